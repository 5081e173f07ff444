"""A live thread for tests: a session file, its runtime, and what the runtime told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from enso.host.contract import (
    ActivityChanged,
    Dialog,
    DialogAnswer,
    EntryStored,
    PromptImage,
    RunSettled,
    ThreadEvent,
    ThreadRuntime,
)
from enso.host.decode import decode_branch
from enso.host.runtime_factory import RuntimeFactory
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptEntry, TranscriptMessage

_Event = TypeVar("_Event")
PATIENCE = 60
"""Seconds that a run may take before a test gives up: the machine may be busy."""


class LiveThread:
    """One thread. ``events`` are all that its runtime told, in order."""

    def __init__(self, runtimes: RuntimeFactory, session: SessionFile) -> None:
        self.runtimes = runtimes
        self.session = session
        self.events: list[ThreadEvent] = []
        self.runtime: ThreadRuntime = runtimes.build(session)
        self._settled = 0
        self._changed = threading.Condition()
        self.runtime.listen(self._hear)

    def _hear(self, event: ThreadEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._settled += isinstance(event, RunSettled)
            self._changed.notify_all()

    def start(self, text: str, images: Sequence[PromptImage] = ()) -> None:
        """Prompt, and do not wait."""
        self.runtime.prompt(text, images)

    def run(self, text: str, images: Sequence[PromptImage] = ()) -> RunSettled:
        """Prompt, and wait until the run is settled."""
        runs = self._settled
        self.start(text, images)
        return self.wait_settled(runs + 1)

    def wait_settled(self, runs: int = 1) -> RunSettled:
        """Wait until so many runs are settled; the last one's ``RunSettled``."""
        with self._changed:
            done = self._changed.wait_for(lambda: self._settled >= runs, PATIENCE)
        assert done, f"the run is not settled: {self.events}"
        return self.told(RunSettled)[-1]

    def wait_for(self, kind: type[_Event]) -> _Event:
        """Wait for the first event of a kind."""
        with self._changed:
            done = self._changed.wait_for(lambda: bool(self.told(kind)), PATIENCE)
        assert done, f"no {kind.__name__}: {self.events}"
        return self.told(kind)[0]

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that an event brings about."""
        with self._changed:
            done = self._changed.wait_for(holds, PATIENCE)
        assert done, f"it never came to that: {self.events}"

    def wait_for_dialogs(self, count: int = 1) -> tuple[Dialog, ...]:
        """Wait until so many dialogs are open; all that are."""
        self.wait_until(lambda: len(self.runtime.dialogs()) >= count)
        return self.runtime.dialogs()

    def answer(self, value: str, reason: str = "") -> None:
        """Answer the oldest dialog, once there is one."""
        dialog = self.wait_for_dialogs()[0]
        assert self.runtime.answer(dialog.id, DialogAnswer(value=value, reason=reason))

    @property
    def activities(self) -> list[str]:
        """The kinds of activity that were told, in order."""
        return [event.activity.kind for event in self.told(ActivityChanged)]

    def told(self, kind: type[_Event]) -> list[_Event]:
        """The events of a kind, so far."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def names(self) -> list[str]:
        """The kinds of all events, in order."""
        return [type(event).__name__ for event in self.events]

    # -- what is stored ---------------------------------------------------------------------------

    def lines(self) -> list[dict[str, Any]]:
        """The file's whole lines, header first; empty without a file.

        A read beside a write may see the beginning of a line: that line is not there yet.
        """
        path = self.session.path
        if not path.exists():
            return []
        whole, _newline, _begun = path.read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.split(b"\n") if line]

    def kinds(self) -> list[str]:
        """What the file's lines are, header first: ``message:user`` and the like."""
        return [
            f"message:{line['message']['role']}" if line["type"] == "message" else line["type"]
            for line in self.lines()
        ]

    def messages(self) -> list[dict[str, Any]]:
        """The stored messages."""
        return [line["message"] for line in self.lines() if line["type"] == "message"]

    def results(self) -> list[dict[str, Any]]:
        """The stored tool results, in order."""
        return [message for message in self.messages() if message["role"] == "toolResult"]

    @property
    def last_answer(self) -> dict[str, Any]:
        """The last stored message, which is an assistant's."""
        message = self.messages()[-1]
        assert message["role"] == "assistant"
        return message

    def read_cold(self) -> tuple[TranscriptEntry, ...]:
        """The file as a fresh reader decodes it."""
        branch = SessionFile.open(self.session.path).branch()
        return decode_branch(branch, providers=self.runtimes.provider_name)

    def stored_live(self) -> list[TranscriptEntry]:
        """The entries that the runtime told of."""
        return [event.entry for event in self.told(EntryStored)]

    @property
    def cold_answer(self) -> TranscriptMessage:
        """The last message, read cold."""
        return next(e for e in reversed(self.read_cold()) if isinstance(e, TranscriptMessage))


def new_thread(
    runtimes: RuntimeFactory, root: Path, thread_id: str = "a-thread", cwd: Path | None = None
) -> LiveThread:
    """A thread that has no file yet."""
    session = SessionFile.create(root / "sessions", thread_id, cwd or root)
    return LiveThread(runtimes, session)


def stored_thread(
    runtimes: RuntimeFactory, root: Path, entries: Sequence[Mapping[str, Any]]
) -> LiveThread:
    """A thread whose file holds these entries (``type`` and fields), opened again."""
    session = SessionFile.create(root / "sessions", "a-stored-thread", root)
    for entry in entries:
        session.append(entry["type"], {k: v for k, v in entry.items() if k != "type"})
    session.begin()
    return LiveThread(runtimes, SessionFile.open(session.path))


def user(text: str) -> dict[str, Any]:
    """A stored entry: a prompt."""
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": "user", "content": content, "timestamp": 1}}


def assistant(
    text: str = "", *, provider: str = "labserver", model: str = "lab-coder", **fields: Any
) -> dict[str, Any]:
    """A stored entry: an answer over chat completions, unless ``fields`` say otherwise."""
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}] if text else [],
        "api": "openai-completions",
        "provider": provider,
        "model": model,
        "stopReason": "stop",
        "timestamp": 2,
    }
    return {"type": "message", "message": {**message, **fields}}
