"""Markdown that grows: what is finished is rendered once, what is open is kept cheap.

A text arrives in small pieces. Its top-level blocks are finished one after the other, and a
finished block never changes again; the last one is open. An open block that is small is rendered
anew at every update; one that is large, and code whose end has not come, grows by plain text. So
the work for a piece does not grow with the text before it. The whole text is rendered again when
its message has ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it.token import Token
from markupsafe import escape

from enso.server.markdown import BLOCKS, html_of, is_too_much

SMALL = 4_000
"""Characters up to which an open block is rendered at every update."""

LARGE = 32_000
"""Characters from which an open block is not rendered, and read at a sign of its end alone."""

GROWTH = 1.5
"""How much an open block must have grown to be read again without a sign of its end."""

_FENCE_END = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\Z")
_MAY_END_FENCE = re.compile(r" {0,3}(?:`+|~+)?[ \t]*\Z")
_LINE_HEAD = 256


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """What changed: ``pieces`` of (DOM id, swap, HTML) in order; how many blocks were finished."""

    pieces: tuple[tuple[str, str, str], ...] = ()
    finished: int = 0


@dataclass(slots=True)
class _Open:
    """How the open block is drawn: HTML, then text as it was written from ``start`` on."""

    head: str = ""
    start: int = 0
    foot: str = ""
    fence: str = ""  # the marker that ends the code, when the block is code
    appends: bool = False


class StreamingMarkdown:
    """One growing text. ``ids`` is the tail of its DOM ids: ``o-<ids>`` is the open block.

    Not guarded: its owner calls it from one worker at a time. ``work`` counts the characters that
    were read as markdown, so that a test can see that they grow with the text alone.
    """

    def __init__(self, ids: str) -> None:
        self._ids = ids
        self._raw: list[str] = []
        self._fresh: list[str] = []  # normalized, not yet seen by an update
        self._ends_in_return = False
        self._env: dict[str, object] = {}  # link definitions of finished blocks
        self._finished: list[str] = []
        self._region: list[str] = []  # the open block's text
        self._size = 0
        self._read_size = 0
        self._line = ""  # the head of the last, incomplete line
        self._after_blank = False
        self._trusts_ends = True  # until an end that was seen turned out to be none
        self._too_much = False
        self._open = _Open()
        self.work = 0

    @property
    def text(self) -> str:
        """All text so far, as it came."""
        if len(self._raw) > 1:
            self._raw = ["".join(self._raw)]
        return self._raw[0] if self._raw else ""

    def append(self, delta: str) -> None:
        """Take a piece of text."""
        self._raw.append(delta)
        if self._ends_in_return and delta.startswith("\n"):
            delta = delta[1:]
            self._ends_in_return = False
        if delta:
            self._ends_in_return = delta.endswith("\r")
            self._fresh.append(delta.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "�"))

    def update(self) -> StreamUpdate:
        """What is to be drawn since the last update."""
        fresh = self._take_fresh()
        if not fresh:
            return StreamUpdate()
        self._region.append(fresh)
        self._size += len(fresh)
        grown = self._read_size * GROWTH <= self._size <= LARGE
        ends = self._sees_end(fresh) and self._trusts_ends
        if not self._too_much and (not self._open.appends or ends or grown):
            return self._read()
        return StreamUpdate(((f"c-{self._ids}", "beforeend", str(escape(fresh))),))

    def _take_fresh(self) -> str:
        """The text since the last update, without what may yet become the end of code."""
        fresh = "".join(self._fresh)
        self._fresh.clear()
        start = fresh.rfind("\n") + 1
        begins_line = start > 0 or not self._line
        if self._open.fence and begins_line and _MAY_END_FENCE.match(fresh[start : start + 80]):
            fresh, waits = fresh[:start], fresh[start:]
            if waits:
                self._fresh.append(waits)
        return fresh

    def html(self) -> str:
        """Everything so far, with the same DOM ids; call ``update`` first."""
        return (
            f'{"".join(self._finished)}<div class="open" id="o-{self._ids}">{self._inner()}</div>'
        )

    def _inner(self) -> str:
        rest = escape(self._region_text()[self._open.start :]) if self._open.appends else ""
        return f"{self._open.head}{rest}{self._open.foot}"

    def _region_text(self) -> str:
        if len(self._region) > 1:
            self._region = ["".join(self._region)]
        return self._region[0] if self._region else ""

    # -- where the open block ends --------------------------------------------------------------

    def _sees_end(self, fresh: str) -> bool:
        """Whether a line of ``fresh`` must end the open block; asks the heads of lines alone."""
        lines = (self._line + fresh).split("\n")
        self._line = lines.pop()[:_LINE_HEAD]
        return True in [self._is_end(line) for line in lines]

    def _is_end(self, line: str) -> bool:
        fence = self._open.fence
        if fence:
            found = _FENCE_END.match(line[:_LINE_HEAD])
            return found is not None and found[1].startswith(fence)
        blank = not line.strip()
        # Behind a blank line, text at the margin belongs to no list, quote or table above it.
        ends = self._after_blank and not blank and line[0] not in " \t*+-0123456789>"
        self._after_blank = blank
        return ends

    # -- reading --------------------------------------------------------------------------------

    def _read(self) -> StreamUpdate:
        """Read the open text: take off the blocks that are finished, and draw what is open anew."""
        text = self._region_text()
        self._too_much = is_too_much(text)
        end, count, last = (0, 0, None) if self._too_much else self._boundary(text)
        self._trusts_ends = end > 0 or len(text) <= SMALL
        pieces: list[tuple[str, str, str]] = []
        if end:
            html = self._render(text[:end], self._env)
            self._finished.append(html)
            pieces.append((f"o-{self._ids}", "beforebegin", html))
            text = text[end:]
            self._region = [text]
            self._size = len(text)
        self._read_size = max(self._size, SMALL)
        self._open = self._drawn(text, last)
        pieces.append((f"o-{self._ids}", "innerMorph", self._inner()))
        return StreamUpdate(tuple(pieces), count)

    def _boundary(self, text: str) -> tuple[int, int, Token | None]:
        """Where the open block begins in ``text``, how many blocks are before it, and its token.

        Only whole lines are asked: what an unfinished line will be cannot be known.
        """
        whole = text[: text.rfind("\n") + 1]
        self.work += len(whole)
        blocks = [
            token
            for token in BLOCKS.parse(whole)
            if token.level == 0 and token.nesting >= 0 and token.map
        ]
        if not blocks:
            return 0, 0, None
        last = blocks[-1]
        if _is_closed_fence(last, whole):
            return _offset(whole, _map(last)[1]), len(blocks), None
        return _offset(whole, _map(last)[0]), len(blocks) - 1, last

    def _references(self) -> dict[str, object]:
        references = self._env.get("references")
        return references if isinstance(references, dict) else {}  # pyright: ignore[reportUnknownVariableType]

    def _drawn(self, text: str, last: Token | None) -> _Open:
        if last is not None and last.type == "fence":
            start = text.find("\n", len(text) - len(text.lstrip("\n"))) + 1
            head = f'<pre class="code" tabindex="0" dir="ltr"><code id="c-{self._ids}">'
            return _Open(head, start, "</code></pre>", last.markup, appends=True)
        if len(text) <= SMALL:
            return _Open(self._render(text, {"references": dict(self._references())}))
        if len(text) <= LARGE and not self._too_much:
            head = self._render(text, {"references": dict(self._references())})
            return self._growing(head, len(text))
        return self._growing("", 0)

    def _growing(self, head: str, start: int) -> _Open:
        box = f'<div class="plain" dir="auto" id="c-{self._ids}">'
        return _Open(head + box, start, "</div>", appends=True)

    def _render(self, text: str, env: dict[str, object]) -> str:
        self.work += len(text)
        return html_of(text, env)


def _map(token: Token) -> list[int]:
    return token.map or [0, 0]


def _offset(text: str, line: int) -> int:
    """Where line number ``line`` begins."""
    at = 0
    for _ in range(line):
        at = text.find("\n", at) + 1
        if not at:
            return len(text)
    return at


def _is_closed_fence(token: Token, text: str) -> bool:
    """Whether code has had its end: nothing that follows can change it."""
    if token.type != "fence":
        return False
    start, end = _map(token)
    last_line = text[_offset(text, end - 1) : _offset(text, end)].rstrip("\n")
    found = _FENCE_END.match(last_line)
    return end - start > 1 and found is not None and found[1].startswith(token.markup)
