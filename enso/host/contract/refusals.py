"""The expected "no"s of a host: one tree, each with its status and a sentence for a person."""

from __future__ import annotations

from pathlib import Path


class HostError(Exception):
    """An expected "no": ``str()`` is a sentence for a person, ``status`` the HTTP status."""

    status = 500
    code = "host-error"


class SessionDirectoryRefused(HostError):
    """The thread's directory is not one that this server serves, or is gone; nothing was built."""

    status = 409
    code = "directory-refused"

    def __init__(self, directory: Path, why: str) -> None:
        self.directory = directory
        super().__init__(f"{directory}: {why}")


class SessionUnreadable(HostError):
    """The session file cannot be continued: damaged, or of a version Enso may not write."""

    status = 409
    code = "session-unreadable"

    def __init__(self, thread_id: str, why: str) -> None:
        self.thread_id = thread_id
        super().__init__(why)


class SessionNotWritten(HostError):
    """The session file could not be written (full disk, no permission, a file that is gone)."""

    status = 409
    code = "session-not-written"

    def __init__(self, thread_id: str, why: str) -> None:
        self.thread_id = thread_id
        super().__init__(why)


class ThreadNotStored(HostError):
    """No log is stored under this id, or none that this server serves."""

    status = 404
    code = "not-found"

    def __init__(self, thread_id: str, why: str = "No thread is stored under this id.") -> None:
        self.thread_id = thread_id
        super().__init__(why)


class PromptRefused(HostError):
    """The runtime cannot do this now: no model, no key, a model that is gone, busy, or not busy."""

    status = 409

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)
