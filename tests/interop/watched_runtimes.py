"""The runtimes of pi, whose processes a test can look at."""

from __future__ import annotations

from typing import Any, Final

from enso.host.runtimes.pi import PiRuntimes, Programs
from enso.host.runtimes.pi.runtime import PiRuntime
from enso.host.session_file import SessionFile

PROGRAMS: Final = Programs()


class Watched(PiRuntimes):
    """A factory that keeps what it built, by thread; each pi is asked for its version once.

    A refusal is waited for however busy the machine is.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options, programs=PROGRAMS, refusal_seconds=60.0)
        self.built: dict[str, PiRuntime] = {}

    def build(self, session: SessionFile) -> PiRuntime:
        """As ever."""
        self.built[session.thread_id] = runtime = super().build(session)
        return runtime
