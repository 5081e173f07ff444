"""The recorded sessions in ``tests/data/corpus``, and what pi itself says of each."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enso.host.session_host import SessionHost
from enso.projects import Projects
from tests.fakes.file_runtimes import ScriptedRuntimes

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
AFTER_RECORDING = 1_796_100_000  # seconds: later than every message of the corpus
NOWHERE = Path("/home/dev/nothing-is-served-here")

_EXPECTED: dict[str, Any] = json.loads((CORPUS / "expected.json").read_text())["files"]


@dataclass(frozen=True)
class Recorded:
    """One recorded file: its path in the corpus, and what pi says of it."""

    name: str
    says: dict[str, Any]

    @property
    def path(self) -> Path:
        """Where it is in the corpus."""
        return CORPUS / self.name

    @property
    def listed(self) -> dict[str, Any]:
        """What pi's listing says; empty when pi does not list it."""
        return self.says.get("listAll") or {} if self.says["listed"] else {}

    @property
    def opened(self) -> dict[str, Any]:
        """What pi says once it is open; empty when it does not open."""
        opened: dict[str, Any] = self.says.get("open") or {}
        return opened if opened.get("ok") else {}

    def __str__(self) -> str:
        short = Path(self.name).stem[-12:]
        scenario = self.says.get("scenario")
        return f"{scenario}-{short}" if scenario else Path(self.name).stem


ALL = [Recorded(name, says) for name, says in _EXPECTED.items()]


def named(name: str) -> Recorded:
    """The recorded file of this name, without folder and suffix."""
    return next(recorded for recorded in ALL if Path(recorded.name).stem == name)


def place(recorded: Recorded, agent_dir: Path) -> Path:
    """Copy a recorded file into a store of its own."""
    path = agent_dir / "sessions" / "--recorded--" / recorded.path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(recorded.path, path)
    os.utime(path, (AFTER_RECORDING, AFTER_RECORDING))
    return path


def host_over(agent_dir: Path, *served: Path) -> SessionHost:
    """The real host over a store, serving the directories that the corpus was recorded in."""
    recorded = {Path(r.listed["cwd"]) for r in ALL if r.listed}
    return SessionHost(
        agent_dir=agent_dir,
        projects=Projects([*sorted(recorded), *served]),
        runtimes=ScriptedRuntimes(),
    )
