"""Session files as the tests read them: whole lines, and what each is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def session_path(agent_dir: Path, cwd: Path, thread_id: str) -> Path:
    """Where the thread of this id lies when it began in a given second."""
    encoded = str(cwd).strip("/").replace("/", "-")
    name = f"2026-01-02T03-04-05-006Z_{thread_id}.jsonl"
    return agent_dir / "sessions" / f"--{encoded}--" / name


def header(cwd: Path, thread_id: str) -> dict[str, Any]:
    """The first line of a file."""
    stamp = "2026-01-02T03:04:05.006Z"
    return {"type": "session", "version": 3, "id": thread_id, "timestamp": stamp, "cwd": str(cwd)}


def lines(path: Path) -> list[dict[str, Any]]:
    """The file's lines, header first."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def kinds(path: Path) -> list[str]:
    """What the lines are: ``message:user`` and the like."""
    return [
        f"message:{line['message']['role']}" if line["type"] == "message" else line["type"]
        for line in lines(path)
    ]
