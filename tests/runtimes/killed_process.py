"""A process that runs one thread up to a state and waits there, to be killed.

``python -m tests.runtimes.killed_process ROOT MODE MARK PROMPT``: runs PROMPT in the thread
``killed`` below ROOT in the permission mode MODE, and prints the session file's path once it is
told of MARK: an activity, ``progress`` or ``result``.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from enso.host.contract import (
    ActivityChanged,
    EntryStored,
    ThreadEvent,
    ToolProgress,
)
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.session_file import SessionFile
from enso.transcript import TranscriptToolResult


def marks(event: ThreadEvent) -> str:
    """What an event shows that was reached."""
    match event:
        case ActivityChanged(activity):
            return activity.kind
        case ToolProgress():
            return "progress"
        case EntryStored(TranscriptToolResult()):
            return "result"
        case _:
            return ""


def main() -> None:
    """Run, say when the state is reached, and wait."""
    root, mode, mark, prompt = Path(sys.argv[1]), *sys.argv[2:]
    found = next((root / "sessions").glob("*/*_killed.jsonl"), None)
    session = (
        SessionFile.open(found)
        if found is not None
        else SessionFile.create(root / "sessions", "killed", root)
    )
    runtime = BuiltinRuntimes(root / "agent", "labserver/lab-coder").build(session)

    def hear(event: ThreadEvent) -> None:
        if marks(event) == mark:
            print(session.path, flush=True)

    runtime.listen(hear)
    runtime.set_mode(mode)
    runtime.prompt(prompt)
    threading.Event().wait()


if __name__ == "__main__":
    main()
