"""The tree of a session file as turns need it: which prompt and which answer an entry follows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from enso.host.stored_values import Stored, object_of


def message_of(entry: Stored) -> Stored:
    """The message of a ``message`` entry; an empty one for any other."""
    return object_of(entry.get("message")) if entry.get("type") == "message" else {}


def role_of(entry: Stored) -> Any:
    """The role of an entry's message, whatever stands there; ``None`` without one."""
    return message_of(entry).get("role")


class Places:
    """Which prompt an entry follows, and which answer: the nearest of each, up the tree."""

    def __init__(self, by_id: dict[str, Stored], branch: Iterable[Stored]) -> None:
        """``branch`` is one that a person reads: its entries follow each other as they stand."""
        self._by_id = by_id
        self._prompts: dict[str | None, str | None] = {None: None}
        self._answers: dict[str | None, str | None] = {None: None}
        self._fill([entry["id"] for entry in branch], None, None)

    def prompt(self, entry_id: str) -> str | None:
        """The prompt that began the turn of this entry; itself for a prompt."""
        self._walk(entry_id)
        return self._prompts[entry_id]

    def answer(self, entry_id: str) -> str | None:
        """The answer before this entry in its turn; itself for an answer."""
        self._walk(entry_id)
        return self._answers[entry_id]

    def _walk(self, entry_id: str) -> None:
        """Fill in an entry and what is above it. Each entry is walked once, cycles end."""
        path: list[str] = []
        above: str | None = entry_id
        while above not in self._prompts and above in self._by_id:
            path.append(above)
            self._prompts[above] = self._answers[above] = None  # until known: a cycle ends here
            above = self._by_id[above]["parentId"]
        self._fill(path[::-1], self._prompts.get(above), self._answers.get(above))

    def _fill(self, path: Iterable[str], prompt: str | None, answer: str | None) -> None:
        """Give each entry on a way down its places, from those above the first."""
        for one in path:
            role = role_of(self._by_id[one])
            if role == "user":
                prompt, answer = one, None
            elif role == "assistant":
                answer = one
            self._prompts[one], self._answers[one] = prompt, answer
