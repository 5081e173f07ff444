"""A test's own agent directory and project, and session files in it as pi writes them.

Also the other writer: lines are appended to a file as another process would, behind Enso's back.
"""

from __future__ import annotations

import json
import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.model_server import ModelServer, configure

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
FIRST = 1_790_000_000_000  # September 2026: when the first thread of a place was last used
MINUTE = 60_000

Entry = dict[str, Any]


def stamp(at: int) -> str:
    """Milliseconds since the epoch as a session file's entries hold them."""
    moment = datetime.fromtimestamp(at / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(entry: Mapping[str, Any]) -> str:
    """One line of a session file."""
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"


def user(text: str | Sequence[Mapping[str, Any]], *, at: int) -> Entry:
    """A prompt, as the ``message`` of an entry."""
    content = [{"type": "text", "text": text}] if isinstance(text, str) else list(text)
    return {"role": "user", "content": content, "timestamp": at}


def assistant(*parts: str | Mapping[str, Any], at: int, **fields: Any) -> Entry:
    """A reply, as the ``message`` of an entry; a string is a text part."""
    content = [{"type": "text", "text": one} if isinstance(one, str) else one for one in parts]
    cost = {"input": 0.001, "output": 0.001, "cacheRead": 0, "cacheWrite": 0, "total": 0.002}
    counts = {"input": 90, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 100}
    message: Entry = {
        "role": "assistant",
        "content": content,
        "api": "openai-completions",
        "provider": "labserver",
        "model": "lab-coder",
        "usage": {**counts, "cost": cost},
        "stopReason": "stop",
        "timestamp": at,
    }
    return {**message, **fields}


def tool_call(call_id: str, name: str, **arguments: Any) -> Entry:
    """A tool call, as a part of a reply."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def tool_result(call_id: str, name: str, text: str, *, at: int, **fields: Any) -> Entry:
    """What a tool gave, as the ``message`` of an entry."""
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": False,
        "timestamp": at,
        **fields,
    }


def png(red: int) -> bytes:
    """A PNG of two by two pixels in one colour."""
    row = b"\x00" + bytes((red, 0, 0)) * 2
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * 2)),
        (b"IEND", b""),
    ]
    made = b"\x89PNG\r\n\x1a\n"
    for name, data in chunks:
        made += struct.pack(">I", len(data)) + name + data
        made += struct.pack(">I", zlib.crc32(name + data))
    return made


class SessionText:
    """A session file another process holds: each entry becomes the child of the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.thread_id = str(json.loads(path.read_bytes().split(b"\n")[0])["id"])

    def entries(self) -> list[Entry]:
        """All whole lines of the file, without its header."""
        lines = self.path.read_bytes().split(b"\n")
        return [json.loads(one) for one in lines[1:-1] if one.strip()]

    def messages(self, role: str) -> list[Entry]:
        """The stored messages of one role, in file order."""
        messages = [one["message"] for one in self.entries() if one["type"] == "message"]
        return [one for one in messages if one["role"] == role]

    def append(self, kind: str = "message", **fields: Any) -> str:
        """Append one entry as a child of the file's last one; returns its id."""
        before = self.entries()
        entry = {
            "type": kind,
            "id": f"{len(before) + 0xA0000000:08x}",
            "parentId": before[-1]["id"] if before else None,
            "timestamp": stamp(time.time_ns() // 1_000_000),
            **fields,
        }
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(line(entry))
        return entry["id"]

    def say(self, *texts: str) -> str:
        """Append a prompt and its reply, and so on; returns the last entry's id."""
        last = ""
        for index, text in enumerate(texts):
            at = time.time_ns() // 1_000_000
            message = assistant(text, at=at) if index % 2 else user(text, at=at)
            last = self.append(message=message)
        return last


@dataclass
class Place:
    """An agent directory and a project of its own, with what a test puts there."""

    agent_dir: Path
    project: Path
    _clock: int = FIRST
    _ids: int = 0

    @classmethod
    def make(cls, directory: Path, *, now: int = FIRST) -> Place:
        """An empty agent directory and an empty project below a directory.

        ``now``: when its first thread was last used, in milliseconds since the epoch.
        """
        made = cls(directory / "agent", directory / "shop", now)
        made.agent_dir.mkdir()
        made.project.mkdir()
        return made

    def new_id(self) -> str:
        """A thread id that no thread here has."""
        self._ids += 1
        return f"thread-{self._ids}"

    def path(self, thread_id: str, cwd: Path | str | None = None) -> Path:
        """Where a thread's file goes, as pi names it."""
        folder = str(cwd or self.project).strip("/").replace("/", "-")
        directory = self.agent_dir / "sessions" / f"--{folder}--"
        directory.mkdir(parents=True, exist_ok=True)
        return directory / f"{stamp(FIRST).replace(':', '-').replace('.', '-')}_{thread_id}.jsonl"

    def file_of(self, thread_id: str) -> SessionText:
        """The one file that holds a thread, whoever made it."""
        (path,) = self.agent_dir.glob(f"sessions/*/*_{thread_id}.jsonl")
        return SessionText(path)

    def thread(
        self, thread_id: str, *texts: str | Entry, cwd: Path | str | None = None
    ) -> SessionText:
        """Store a thread: prompts and replies in turn, or whole messages. A later one is newer."""
        path = self.path(thread_id, cwd)
        header = {
            "type": "session",
            "version": 3,
            "id": thread_id,
            "timestamp": stamp(self._clock),
            "cwd": str(cwd or self.project),
        }
        lines = [line(header)]
        for index, text in enumerate(texts):
            self._clock += MINUTE
            turn = assistant if index % 2 else user
            message = turn(text, at=self._clock) if isinstance(text, str) else text
            entry = {
                "type": "message",
                "id": f"{index + 1:08x}",
                "parentId": f"{index:08x}" if index else None,
                "timestamp": stamp(self._clock),
                "message": message,
            }
            lines.append(line(entry))
        # Written aside and moved, so that no reader meets half of it.
        aside = path.with_suffix(".part")
        aside.write_text("".join(lines), encoding="utf-8", newline="")
        aside.rename(path)
        return SessionText(path)

    def recorded(self, name: str, *, thread_id: str, cwd: Path | str | None = None) -> SessionText:
        """Copy the recorded session whose file name ends in ``name``, under an id of the test's."""
        source = next(CORPUS.glob(f"sessions*/*/*{name}.jsonl"))
        first, _, rest = source.read_bytes().partition(b"\n")
        header = {**json.loads(first), "id": thread_id, "cwd": str(cwd or self.project)}
        path = self.path(thread_id, cwd)
        path.write_bytes(line(header).encode() + rest)
        return SessionText(path)

    def use_models(self, server: ModelServer) -> None:
        """Configure the scripted endpoint as the provider ``labserver``, and others beside it.

        A refused attempt is not made again: a test that looks at retries says so.
        """
        configure(self.agent_dir, server.url)
        self.set(retry={"enabled": False})

    def set(self, **settings: Any) -> None:
        """Write ``settings.json``."""
        (self.agent_dir / "settings.json").write_text(json.dumps(settings))

    def everything(self) -> dict[str, tuple[bytes, int]]:
        """Every file of the agent directory: its bytes and the time it was changed."""
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in sorted(self.agent_dir.rglob("*"))
            if path.is_file()
        }
