"""Stores to measure on: made once by a seed, the same bytes every time; ids never come twice.

Sessions are as the agent writes them: prompts, tool calls with their results, replies, now and then
a name or another branch. Nothing in them was ever said by anybody.
"""

from __future__ import annotations

import base64
import json
import math
import os
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PROJECTS = [Path(f"/benchmark/project-{number:02}") for number in range(40)]
NOW_MS = 1_796_040_000_000
DAY_MS = 86_400_000
MEBIBYTE = 1 << 20
WORDS = [
    "cart",
    "tax",
    "order",
    "price",
    "test",
    "module",
    "discount",
    "change",
    "total",
    "the",
    "a",
]

BEYOND_ASCII = 3_500
"""A text of so many words holds a character outside ASCII: a line in ten, as in recorded ones."""

Entry = dict[str, Any]


class Session:
    """A session file in the making."""

    def __init__(self, chance: random.Random, number: int, longest: int = 700) -> None:
        """``longest`` is how many words a tool gives back at most."""
        self._longest = longest
        self._chance = chance
        self._number = number
        self._ids: list[str] = []
        self._leaf: str | None = None
        self.cwd = chance.choice(PROJECTS)
        self.at = NOW_MS - chance.randrange(400 * DAY_MS)
        self.id = f"{number:08x}-0000-7000-8000-{chance.getrandbits(48):012x}"
        header = {"type": "session", "version": 3, "id": self.id}
        self._lines = [_line({**header, "timestamp": _iso(self.at), "cwd": str(self.cwd)})]
        self.size = len(self._lines[0])
        self.add("model_change", provider="labserver", modelId="lab-coder")

    def add(self, kind: str, **fields: Any) -> None:
        """Append an entry as the child of the last one."""
        entry_id = f"{self._number & 0xFFF:03x}{len(self._ids):05x}"
        self.at += self._chance.randrange(3, 9000)
        place = {"id": entry_id, "parentId": self._leaf, "timestamp": _iso(self.at)}
        line = _line({"type": kind, **place, **fields})
        self._lines.append(line)
        self.size += len(line)
        self._leaf = entry_id
        self._ids.append(entry_id)

    def say(self, role: str, content: list[Entry], **fields: Any) -> None:
        """Append a message."""
        self.add(
            "message", message={"role": role, "content": content, "timestamp": self.at} | fields
        )

    def turn(self) -> None:
        """A prompt, a few calls with their results, and a reply."""
        self.say("user", [self._text(20)])
        for _ in range(int(self._chance.expovariate(1 / 5))):
            call_id = f"call_{self._chance.getrandbits(88):022x}"
            call = {"type": "toolCall", "id": call_id, "name": "bash"}
            arguments = {"command": self._text(8)["text"]}
            self._reply([self._text(12), {**call, "arguments": arguments}], "toolUse")
            answer = {"toolCallId": call_id, "toolName": "bash", "isError": False}
            words = self._chance.randrange(40, self._longest)
            self.say("toolResult", [self._text(words)], **answer)
        self._reply([self._text(60)], "stop")
        if self._chance.random() < 0.03:
            self.add("session_info", name=self._text(3)["text"])
        if self._chance.random() < 0.01 and len(self._ids) > 30:
            self._leaf = self._ids[-self._chance.randrange(5, 25)]

    def picture(self) -> None:
        """A prompt with an image, and a reply."""
        data = base64.b64encode(self._chance.randbytes(self._chance.randrange(150_000, 700_000)))
        image = {"type": "image", "data": data.decode(), "mimeType": "image/png"}
        self.say("user", [self._text(5), image])
        self._reply([self._text(60)], "stop")

    def write(self, sessions: Path) -> Path:
        """Write the file as old as its last entry."""
        directory = sessions / f"--{str(self.cwd)[1:].replace('/', '-')}--"
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{_iso(self.at).replace(':', '-').replace('.', '-')}_{self.id}.jsonl"
        path.write_bytes(b"".join(self._lines))
        os.utime(path, ns=(self.at * 1_000_000,) * 2)
        return path

    def _reply(self, content: list[Entry], stop_reason: str) -> None:
        usage = {"input": 900, "output": 80, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 980}
        model = {"api": "openai-completions", "provider": "labserver", "model": "lab-coder"}
        money = {"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003}
        spent = {"usage": {**usage, "cost": money}, "stopReason": stop_reason}
        self.say("assistant", content, **model, **spent)

    def _text(self, words: int) -> Entry:
        text = " ".join(self._chance.choices(WORDS, k=words))
        if self._chance.random() < words / BEYOND_ASCII:
            text += " — café ✓"
        return {"type": "text", "text": text}


def many_sessions(agent_dir: Path, count: int) -> None:
    """Sessions of log-normal size: 60 kB in the middle, a few of 20 MB."""
    chance = random.Random(count)
    for number in range(count):
        session = Session(chance, number)
        wanted = min(20e6, math.exp(chance.gauss(math.log(60_000), 1.5)))
        while session.size < wanted:
            session.turn()
        session.write(agent_dir / "sessions")


def long_session(agent_dir: Path, mebibytes: int) -> None:
    """One session of many turns: 100 MiB are some 48,000 entries."""
    session = Session(random.Random(mebibytes), 1, longest=1480)
    while session.size < mebibytes * MEBIBYTE:
        session.turn()
    session.write(agent_dir / "sessions")


def session_of_images(agent_dir: Path, mebibytes: int) -> None:
    """One session that is mostly images."""
    session = Session(random.Random(mebibytes), 2)
    while session.size < mebibytes * MEBIBYTE:
        session.picture()
    session.write(agent_dir / "sessions")


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _line(value: Entry) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
