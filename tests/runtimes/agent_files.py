"""Changes to the files of an agent directory, as a person would make them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def change_model(agent_dir: Path, provider: str, changes: dict[str, Any]) -> None:
    """Change the one model of a provider in ``models.json``; ``None`` takes a field out."""
    path = agent_dir / "models.json"
    stored = json.loads(path.read_text())
    model = stored["providers"][provider]["models"][0]
    model |= changes
    for name in [name for name, value in changes.items() if value is None]:
        del model[name]
    path.write_text(json.dumps(stored))


def write_provider(agent_dir: Path, provider: str, fields: dict[str, Any] | None) -> None:
    """Put one more provider into ``models.json``, or take one out."""
    path = agent_dir / "models.json"
    stored = json.loads(path.read_text()) if path.exists() else {"providers": {}}
    if fields is None:
        del stored["providers"][provider]
    else:
        stored["providers"][provider] = fields
    path.write_text(json.dumps(stored))


def write_json(path: Path, value: Any) -> None:
    """Write a file of the agent directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
