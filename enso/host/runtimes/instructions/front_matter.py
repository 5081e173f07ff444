"""The fields at the head of a Markdown file, between two lines of dashes.

Reads as much of YAML as such heads are written in: fields with a text, plain, quoted, in a block
or over several lines, or true and false. A field that holds more (a list, fields of its own) is
there without a value. Source of where a head begins and ends: pi 1.6.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FieldValue = str | bool | None

_FIELD: Final = re.compile(r"([A-Za-z0-9_.-]+)[ \t]*:(?:[ \t]+(.*))?$")
_BLOCK: Final = re.compile(r"([|>])[0-9]?([+-]?)[0-9]?(?:[ \t]+#.*)?$")
_COMMENT: Final = re.compile(r"[ \t]+#.*$")
_NUMBER: Final = re.compile(r"[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$")
_BEGINS_NO_TEXT: Final = ("[", "{", "&", "*", "!", "%", "@", "`", "- ")


class BadFrontMatter(ValueError):
    """The head cannot be read: ``str()`` names the line and says why."""


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """The fields of a head (none without one), and what stands below it."""

    fields: Mapping[str, FieldValue]
    body: str

    def text(self, name: str) -> str:
        """The text of a field; empty when it has none."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


def read_front_matter(content: str) -> MarkdownFile:
    """Split a file into its fields and its body. Raises ``BadFrontMatter``."""
    text = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    end = text.find("\n---", 3)
    if not text.startswith("---") or end == -1:
        return MarkdownFile({}, text)
    return MarkdownFile(_Fields(text[4:end]).read(), text[end + 4 :].strip())


class _Fields:
    """Reads the lines of a head from the first to the last."""

    def __init__(self, head: str) -> None:
        self._lines = head.split("\n")
        self._at = 0

    def read(self) -> dict[str, FieldValue]:
        """All fields; a name that is there twice is an error, as it is in YAML."""
        fields: dict[str, FieldValue] = {}
        if not any(_FIELD.match(line.rstrip()) for line in self._lines):
            return fields  # a text between two rules, and no head
        while self._at < len(self._lines):
            line = self._lines[self._at].rstrip()
            self._at += 1
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            found = _FIELD.match(line)
            if found is None or found[1] in fields:
                raise self._bad("a field was expected" if found is None else "it is there twice")
            fields[found[1]] = self._value((found[2] or "").strip())
        return fields

    def _value(self, first: str) -> FieldValue:
        block = _BLOCK.match(first)
        if block is not None:
            return self._block(folds=block[1] == ">", keep=block[2])
        if first.startswith(('"', "'")):
            return self._quoted(first)
        return self._plain(first)

    def _indented(self) -> list[str]:
        start = self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and not line.startswith((" ", "\t")):
                break
            self._at += 1
        return self._lines[start : self._at]

    def _block(self, *, folds: bool, keep: str) -> str:
        lines = self._indented()
        indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
        indent = min(indents, default=0)
        text = "\n".join(line[indent:].rstrip() if folds else line[indent:] for line in lines)
        end = "" if keep == "-" or not text.strip() else "\n"
        text = text.rstrip("\n")
        return (_folded(text) if folds else text) + end

    def _quoted(self, first: str) -> str:
        text = _folded("\n".join([first, *(line.strip() for line in self._indented())])).strip()
        pattern = r'"(?:[^"\\]|\\.)*"' if first[0] == '"' else r"'(?:[^']|'')*'"
        found = re.match(pattern, text)
        rest = text[found.end() :].strip() if found is not None else ""
        if found is None or (rest and not rest.startswith("#")):
            raise self._bad("the quotes do not close")
        if first[0] == "'":
            return found.group()[1:-1].replace("''", "'")
        try:
            return str(json.loads(found.group(), strict=False))
        except ValueError:
            raise self._bad("the text in quotes cannot be read") from None

    def _plain(self, first: str) -> FieldValue:
        lines = [first, *(line.strip() for line in self._indented())]
        kept = (_COMMENT.sub("", line) for line in lines if not line.startswith("#"))
        text = _folded("\n".join(kept).strip())
        if not first and re.match(r"- |[^\s:]+:(\s|$)", text):  # a list, or fields of its own
            return None
        if text.lower() in {"true", "false"}:
            return text.lower() == "true"
        if not text or text.startswith(_BEGINS_NO_TEXT) or _NUMBER.match(text):
            return None
        return None if text.lower() in {"null", "~"} else text

    def _bad(self, why: str) -> BadFrontMatter:
        return BadFrontMatter(f"line {self._at + 1}: {why}")


def _folded(text: str) -> str:
    """The text with single line ends as blanks; of several, one less."""
    return re.sub(r"\n+", lambda ends: "\n" * (len(ends[0]) - 1) or " ", text)
