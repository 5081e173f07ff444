"""The fenced excerpts of the docs: each is the source it names.

A fence follows a marker ``<!-- source: FILE NAME -->``; NAME is a class, a function or an assigned
name at the top of FILE. ``python -m tests.packaging.fences`` puts the source as it now is into
every fence.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.packaging.trees import ROOT

_FENCE = re.compile(
    r"<!-- source: (?P<file>\S+) (?P<name>\w+) -->\n```python\n(?P<text>.*?)```", re.DOTALL
)


@dataclass(frozen=True)
class Fence:
    """One excerpt: where it says it is from, and its text."""

    file: str
    name: str
    text: str

    @property
    def source(self) -> str:
        """The source that it names, as it now is. Raises ``LookupError`` when there is none."""
        source = (ROOT / self.file).read_text(encoding="utf-8")
        lines = source.splitlines(keepends=True)
        for node in ast.parse(source).body:
            if self.name in _names(node):
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                return "".join(lines[first - 1 : node.end_lineno])
        raise LookupError(f"{self.file} has no {self.name}")


def documents() -> list[Path]:
    """Every page of the project's own prose."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fences(document: Path) -> Iterator[Fence]:
    """The excerpts of one page, in order."""
    for match in _FENCE.finditer(document.read_text(encoding="utf-8")):
        yield Fence(match["file"], match["name"], match["text"])


def refresh(document: Path) -> None:
    """Put the source as it now is into every fence of the page."""

    def renewed(match: re.Match[str]) -> str:
        fence = Fence(match["file"], match["name"], match["text"])
        return f"<!-- source: {fence.file} {fence.name} -->\n```python\n{fence.source}```"

    text = document.read_text(encoding="utf-8")
    document.write_text(_FENCE.sub(renewed, text), encoding="utf-8")


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return set()


if __name__ == "__main__":
    for page in documents():
        refresh(page)
