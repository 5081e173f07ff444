"""The tree of the fake host: entries of ours by their ids, and the parent of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from enso.host.contract import ThreadTree, ThreadTreeEntry, TreeKind, first_line
from enso.transcript import (
    Part,
    TextPart,
    ToolCallPart,
    TranscriptCustom,
    TranscriptEntry,
    TranscriptLabel,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptModelChange,
    TranscriptOther,
    TranscriptThinkingLevel,
    TranscriptToolResult,
)


@dataclass
class FakeTree:
    """Every entry that was ever stored in a thread, in the order in which it was."""

    entries: dict[str, TranscriptEntry] = field(default_factory=dict[str, TranscriptEntry])
    parents: dict[str, str | None] = field(default_factory=dict[str, str | None])

    @classmethod
    def line(cls, entries: Iterable[TranscriptEntry]) -> FakeTree:
        """A tree of one branch."""
        tree = cls()
        tree.grow(None, *entries)
        return tree

    def copy(self) -> FakeTree:
        """The same entries, to grow on its own."""
        return FakeTree(dict(self.entries), dict(self.parents))

    def grow(self, parent: str | None, *entries: TranscriptEntry) -> None:
        """Put entries behind one another, the first behind ``parent``."""
        for entry in entries:
            self.entries[entry.id], self.parents[entry.id] = entry, parent
            parent = entry.id

    def take_in(self, other: FakeTree) -> None:
        """What another tree of the same thread has, too."""
        self.entries.update(other.entries)
        self.parents.update(other.parents)

    def branch(self, leaf: str | None) -> list[TranscriptEntry]:
        """The entries from the root to a leaf."""
        line: dict[str, TranscriptEntry] = {}
        while leaf is not None and leaf not in line:
            line[leaf] = self.entries[leaf]
            leaf = self.parents[leaf]
        return list(line.values())[::-1]

    def labels(self) -> dict[str, str]:
        """The last label of each entry that has one."""
        labels: dict[str, str] = {}
        for entry in self.entries.values():
            if isinstance(entry, TranscriptLabel):
                labels[entry.target_id] = entry.label
        return {target: label for target, label in labels.items() if label}

    def said(self, entry_id: str) -> Sequence[Part] | None:
        """The parts of a prompt."""
        entry = self.entries.get(entry_id)
        said = isinstance(entry, TranscriptMessage) and entry.role == "user"
        return entry.parts if said and isinstance(entry, TranscriptMessage) else None

    def read(self, leaf: str | None) -> ThreadTree:
        """The tree as the contract has it."""
        labels, branch = self.labels(), {entry.id for entry in self.branch(leaf)}
        rows = (self._row(entry, labels, branch) for entry in self.entries.values())
        return ThreadTree(entries=tuple(rows), leaf_id=leaf)

    def _row(
        self, entry: TranscriptEntry, labels: Mapping[str, str], branch: set[str]
    ) -> ThreadTreeEntry:
        kind, name, text = _told(entry)
        is_result = isinstance(entry, TranscriptToolResult)
        return ThreadTreeEntry(
            id=entry.id,
            parent_id=self.parents[entry.id],
            kind=kind,
            name=name,
            text=first_line(text),
            created_at=entry.created_at,
            stop_reason=entry.stop_reason if isinstance(entry, TranscriptMessage) else None,
            is_error=entry.is_error if isinstance(entry, TranscriptToolResult) else False,
            call=self._call(entry) if is_result else None,
            label=labels.get(entry.id),
            on_branch=entry.id in branch,
        )

    def _call(self, result: TranscriptToolResult) -> ToolCallPart | None:
        for entry in reversed(self.branch(result.id)):
            if isinstance(entry, TranscriptMessage):
                calls = (part for part in entry.parts if isinstance(part, ToolCallPart))
                return next((call for call in calls if call.id == result.tool_call_id), None)
        return None


def _told(entry: TranscriptEntry) -> tuple[TreeKind, str, str]:
    """Kind, name and text of an entry."""
    match entry:
        case TranscriptMessage():
            refusal = entry.refusal.reason if entry.refusal else ""
            return entry.role, "", _text(entry.parts) or refusal
        case TranscriptToolResult():
            return "tool-result", entry.tool_name, _text(entry.parts)
        case TranscriptMarker():
            return "marker", entry.kind, entry.title
        case TranscriptLabel():
            return "label", "label", entry.label
        case TranscriptCustom():
            return "setting", "custom", entry.custom_type
        case TranscriptModelChange():
            return "setting", "model_change", f"{entry.provider}/{entry.model}"
        case TranscriptThinkingLevel():
            return "setting", "thinking_level_change", entry.level
        case TranscriptOther():
            return "setting", entry.kind, ""


def _text(parts: Sequence[Part]) -> str:
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return next((text for text in texts if text.strip()), "")
