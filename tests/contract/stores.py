"""What the contract suite needs of a store, and the two that it runs over.

A ``Store`` puts threads where its host finds them, as another program would, and shows what a host
left behind.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from enso.host.contract import AgentHost
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.transcript import ImagePart, TextPart, TranscriptCustom, TranscriptMessage
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.fakes.file_runtimes import ScriptedRuntimes
from tests.fakes.scripted_runtime import Script

BEGINNING_MS = 1_767_225_600_000


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the program behind a runtime can do, where that differs.

    ``retries_at_once``: a wait for the next attempt can be cut short.
    ``refuses_a_failed_summary``: ``compact`` itself refuses what cannot be summed up, before a run
    has begun. ``names_forks``: a fork gets the id that it was asked for. ``takes_back``: what waits
    in its queue can be taken out. ``is_given_a_file``: the file is there, with a header alone,
    before anything is said. ``requests_an_attempt``: how often a model that refuses is asked
    before it is said.
    """

    retries_at_once: bool = True
    refuses_a_failed_summary: bool = False
    names_forks: bool = True
    takes_back: bool = True
    is_given_a_file: bool = False
    requests_an_attempt: int = 1


class Store(Protocol):
    """A store behind the contract. A turn is ``("user", text)`` or ``("assistant", text)``."""

    host: AgentHost
    project: Path
    """A directory that is served and exists."""
    script: Script
    facts: Facts

    def put(
        self,
        thread_id: str,
        *turns: tuple[str, str],
        directory: Path | None = None,
        name: str | None = None,
        mode: str | None = None,
        minute: int = 0,
    ) -> None:
        """Store a thread whose first message is ``minute`` minutes after the beginning.

        A turn is a role and its text; ``image`` is a prompt with an image of this base64.
        """
        ...

    def append(self, thread_id: str, *turns: tuple[str, str]) -> None:
        """Append to a stored thread as another program would."""
        ...

    def remove(self, thread_id: str) -> None:
        """Delete a stored thread as another program would."""
        ...

    def take_project_away(self) -> None:
        """The served directory is renamed away."""
        ...

    def trace(self) -> Any:
        """Everything a host could have left behind: equal before and after means untouched."""
        ...

    def built(self) -> int:
        """How many runtimes were built."""
        ...

    def close(self) -> None:
        """End everything."""
        ...


class FakeStore:
    """The fake host."""

    facts = Facts()

    def __init__(self, tmp_path: Path) -> None:
        self.project = tmp_path / "shop"
        self.host = FakeHost(self.project)
        self.script = self.host.script

    def put(
        self,
        thread_id: str,
        *turns: tuple[str, str],
        directory: Path | None = None,
        name: str | None = None,
        mode: str | None = None,
        minute: int = 0,
    ) -> None:
        """As the protocol says."""
        at = BEGINNING_MS + minute * 60_000
        entries = [_ours(turn, at + index) for index, turn in enumerate(turns)]
        modes = [TranscriptCustom(id="", custom_type="modes", data={"mode": mode})] if mode else []
        self.host.store(thread_id, *modes, *entries, directory=directory, name=name)

    def append(self, thread_id: str, *turns: tuple[str, str]) -> None:
        """As the protocol says."""
        self.host.grow(thread_id, *(_ours(turn, None) for turn in turns))

    def remove(self, thread_id: str) -> None:
        """As the protocol says."""
        self.host.remove(thread_id)

    def take_project_away(self) -> None:
        """As the protocol says."""
        self.host.rename_away(self.project)

    def trace(self) -> Any:
        """As the protocol says."""
        rows = self.host.list_sessions()
        return [(row, self.host.entries(row.id), self.host.version(row.id)) for row in rows]

    def built(self) -> int:
        """As the protocol says."""
        return len(self.host.built)

    def close(self) -> None:
        """As the protocol says."""
        self.host.close()


def _ours(turn: tuple[str, str], created_at: int | None) -> Any:
    role, text = turn
    if role == "image":
        parts = (TextPart("Look:"), ImagePart("image/png", text))
        return TranscriptMessage(id="", created_at=created_at, role="user", parts=parts)
    make = user if role == "user" else assistant
    return make(text, created_at=created_at)


class FileStore:
    """Real session files, and the real host over them."""

    facts = Facts()
    host: SessionHost
    script: Script
    runtimes: Any

    def __init__(self, tmp_path: Path) -> None:
        self.project = tmp_path / "shop"
        self.project.mkdir()
        self.agent_dir = tmp_path / "agent"
        self._begin()

    def _begin(self) -> None:
        self.runtimes = ScriptedRuntimes()
        self.script = self.runtimes.script
        self.host = SessionHost(
            agent_dir=self.agent_dir,
            projects=Projects([self.project]),
            runtimes=self.runtimes,
        )

    def put(
        self,
        thread_id: str,
        *turns: tuple[str, str],
        directory: Path | None = None,
        name: str | None = None,
        mode: str | None = None,
        minute: int = 0,
    ) -> None:
        """As the protocol says."""
        path = self._path(thread_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        header = {
            "type": "session",
            "version": 3,
            "id": thread_id,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": str(directory or self.project),
        }
        entries = (
            [{"type": "custom", "customType": "modes", "data": {"mode": mode}}] if mode else []
        )
        entries += [
            _stored(turn, BEGINNING_MS + minute * 60_000 + i) for i, turn in enumerate(turns)
        ]
        entries += [{"type": "session_info", "name": name}] if name else []
        lines = [header, *_linked(entries, parent=None, first=1)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def append(self, thread_id: str, *turns: tuple[str, str]) -> None:
        """As the protocol says."""
        path = self._path(thread_id)
        lines = path.read_text().splitlines()
        parent = json.loads(lines[-1])["id"]
        entries = [_stored(turn, BEGINNING_MS + len(lines)) for turn in turns]
        linked = _linked(entries, parent=parent, first=len(lines))
        with path.open("a") as stream:
            stream.write("".join(json.dumps(entry) + "\n" for entry in linked))

    def remove(self, thread_id: str) -> None:
        """As the protocol says."""
        self._path(thread_id).unlink()

    def take_project_away(self) -> None:
        """As the protocol says."""
        shutil.move(self.project, self.project.with_name("renamed"))

    def trace(self) -> Any:
        """As the protocol says."""
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
            for path in [self.agent_dir, *self.agent_dir.rglob("*")]
            if path.exists()
        }

    def built(self) -> int:
        """As the protocol says."""
        return len(self.runtimes.built)

    def close(self) -> None:
        """As the protocol says."""
        self.host.close()

    def _path(self, thread_id: str) -> Path:
        return self.agent_dir / "sessions" / "--shop--" / f"2026_{thread_id}.jsonl"


def _stored(turn: tuple[str, str], timestamp: int) -> dict[str, Any]:
    role, text = turn
    message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
    if role == "image":
        image = {"type": "image", "data": text, "mimeType": "image/png"}
        message = {"role": "user", "content": [{"type": "text", "text": "Look:"}, image]}
    if role == "assistant":
        message |= {"provider": "scripted", "model": "script-1", "stopReason": "stop"}
    return {"type": "message", "message": message | {"timestamp": timestamp}}


def _linked(
    entries: Sequence[dict[str, Any]], *, parent: str | None, first: int
) -> list[dict[str, Any]]:
    linked: list[dict[str, Any]] = []
    for number, entry in enumerate(entries, first):
        linked.append({**entry, "id": f"{number:08x}", "parentId": parent})
        parent = linked[-1]["id"]
    return linked
