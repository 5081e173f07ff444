"""Whether a model's Markdown can stand in a document of others' without being more than text.

A document is read by programs unknown here, some of which show raw HTML, fetch pictures or follow
definitions. So a text is let through only when it is read here, with HTML allowed, as paragraphs,
lists, tables, code and links to pages, and when what follows it is read as if it were not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from enso.server.markdown import is_followed_link, is_shown_image, is_too_much

LEVELS_BELOW = 2
"""How many levels a reply's headings go down: the document's own are of the first two."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ATX = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")
_LABEL = re.compile(r"\[(?:image-\d+|\^[^\]\s]+)\]", re.IGNORECASE)
"""What leads elsewhere in the document: to its images, or to a footnote."""

_BEHIND = "\n\n# .\n"


def _is_link(url: str) -> bool:  # noqa: ARG001
    """Every one, so that those which another reader would take are seen here."""
    return True


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": True})
    reader.enable(["table", "strikethrough"])
    reader.validateLink = _is_link
    return reader


_READER = _reader()


def tamed(text: str) -> str | None:
    """``text`` as it can stand in a document, its headings lowered; ``None`` when it cannot."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if is_too_much(plain) or "\0" in plain or _LABEL.search(plain):
        return None
    lines = plain.split("\n")
    found: dict[str, object] = {}
    tokens = _READER.parse(plain + _BEHIND, found)
    if found.get("references") or not _ends_before(tokens, len(lines) + 1):
        return None
    if not all(_is_text(token) for token in _every(tokens)):
        return None
    return _lowered(lines, tokens[:-3])


def _ends_before(tokens: list[Token], line: int) -> bool:
    """Whether the heading behind the text is read as one, at the line where it was put."""
    heading = tokens[-3] if len(tokens) >= 3 else None
    return (
        heading is not None
        and heading.type == "heading_open"
        and heading.level == 0
        and heading.map == [line, line + 1]
    )


def _every(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _is_text(token: Token) -> bool:
    """Whether a reader does no more with this than show it."""
    if token.type in ("html_block", "html_inline"):
        return False
    if token.type == "image":
        return is_shown_image(str(token.attrGet("src") or ""))
    if token.type == "link_open":
        href = str(token.attrGet("href") or "")
        return is_followed_link(href) or _SCHEME.match(href) is None
    return True


def _lowered(lines: list[str], tokens: Iterable[Token]) -> str | None:
    """The text with its own headings lowered; ``None`` for one that is underlined."""
    for token in tokens:
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        if token.markup in ("=", "-"):
            return None
        at = token.map[0]
        lines[at] = _ATX.sub(_lower, lines[at], count=1)
    return "\n".join(lines)


def _lower(found: re.Match[str]) -> str:
    return found[1] + "#" * min(6, len(found[2]) + LEVELS_BELOW)
