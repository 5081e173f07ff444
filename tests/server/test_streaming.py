"""Markdown that grows: the end is the whole, and no piece costs more for what came before it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enso.server.markdown import render_markdown
from enso.server.streaming import SMALL, StreamingMarkdown
from tests.server.test_markdown import PIECES, assert_safe, read

REPLY = """# Totals

Each line is *rounded* on its own, see [docs/money.md](docs/money.md).
It goes on.

```python
def total(self):
    return "```"  # no end of code

more
```

- one
- two

  - inner

| a | b |
|---|--:|
| 1 | 2 |

~~~~
~~~
~~~~

> quoted
lazily

Setext
======

[a]: https://example.org
[a] and the end."""


class Page:
    """What a browser holds: the stream's element, changed by its updates alone."""

    def __init__(self) -> None:
        self.before = ""
        self.open = ""
        self.finished = 0

    def apply(self, pieces: Iterable[tuple[str, str, str]]) -> None:
        """Do what htmx does with a frame's pieces."""
        for target, swap, html in pieces:
            match (target, swap):
                case ("o-k-1", "beforebegin"):
                    self.before += html
                case ("o-k-1", "innerMorph"):
                    self.open = html
                case ("c-k-1", "beforeend"):
                    self._append(html)
                case other:
                    raise AssertionError(f"unexpected piece: {other}")

    def _append(self, html: str) -> None:
        found = re.search(r'id="c-k-1">', self.open)
        assert found, "text was appended to an element that is not there"
        end = min(
            at
            for tag in ("</code></pre>", "</div>")
            if (at := self.open.find(tag, found.end())) >= 0
        )
        self.open = self.open[:end] + html + self.open[end:]

    @property
    def html(self) -> str:
        """The stream's HTML, as a snapshot would say it."""
        return f'{self.before}<div class="open" id="o-k-1">{self.open}</div>'


def streamed(text: str, sizes: Iterable[int] = ()) -> tuple[StreamingMarkdown, Page]:
    """A stream fed with ``text`` in pieces of ``sizes`` (then 7), and the page it made."""
    stream, page, at, steps = StreamingMarkdown("k-1"), Page(), 0, iter(sizes)
    while at < len(text):
        size = max(1, next(steps, 7))
        stream.append(text[at : at + size])
        at += size
        update = stream.update()
        page.apply(update.pieces)
        page.finished += update.finished
    return stream, page


def unwrapped(html: str) -> str:
    """A stream's HTML without the box of its open block."""
    return re.sub(r'<div class="open" id="o-k-1">(.*)</div>', r"\1", html, flags=re.DOTALL)


def test_a_whole_reply_in_pieces_is_the_whole_reply() -> None:
    """At its end a stream holds the HTML of the whole text, block by block."""
    stream, page = streamed(REPLY)
    assert unwrapped(stream.html()) == render_markdown(REPLY)
    assert page.html == stream.html()
    assert page.finished == 7  # the heading is open: what follows it is no whole line


def test_a_stream_leaves_nothing_out_of_what_goes_too_deep() -> None:
    """What is nested deeper than is read as markdown streams as it was written, all of it."""
    deep = "\n".join(f"{'  ' * level}- level {level}" for level in range(30))
    stream, page = streamed(f"**Before**\n\n{deep}\n\nAfter.\n")
    assert unwrapped(stream.html()) == render_markdown(stream.text)
    assert page.html == stream.html()
    assert read(stream.html()).text.endswith(f"{deep}\n\nAfter.\n")


def test_a_finished_block_is_sent_once() -> None:
    """No block that was finished is ever sent again."""
    stream, sent = StreamingMarkdown("k-1"), ""
    for letter in "".join(f"Paragraph {n} here.\n\n" for n in range(40)):
        stream.append(letter)
        sent += "".join(html for _, swap, html in stream.update().pieces if swap == "beforebegin")
    assert [sent.count(f"Paragraph {n} here.") for n in range(39)] == [1] * 39


@given(st.lists(PIECES, max_size=25).map("".join), st.lists(st.integers(1, 12), max_size=40))
@example("para\n#x", [6])
@example("a\r\nb\r\n\r\nc\r", [2])
@example("```\n```", [5])
def test_the_page_that_deltas_made_is_the_page_a_snapshot_makes(
    text: str, sizes: list[int]
) -> None:
    """Whatever streams, in whatever pieces: who joined late sees what who watched sees, safely."""
    stream, page = streamed(text, sizes)
    assert page.html == stream.html()
    assert stream.text == text
    assert_safe(re.sub(r' id="[oc]-k-1"', "", stream.html()))


@given(st.lists(PIECES, max_size=25).map("".join), st.lists(st.integers(1, 12), max_size=40))
def test_how_a_text_was_cut_into_pieces_leaves_no_trace(text: str, sizes: list[int]) -> None:
    """Closed by a paragraph, a stream says the same whether it came at once or in crumbs."""
    text = f"{text}\n\nThe end.\n\nAfter."
    crumbs, _ = streamed(text, sizes)
    at_once, _ = streamed(text, [len(text)])
    assert read(crumbs.html()).text.split() == read(at_once.html()).text.split()


def test_code_grows_by_plain_text_and_is_coloured_when_it_ends() -> None:
    """Open code is appended to; its colours come once, with its end."""
    stream, page = StreamingMarkdown("k-1"), Page()
    swaps: list[str] = []
    for piece in ("```python\n", "def f():\n", "    pass", "\n", "```", "\n"):
        stream.append(piece)
        update = stream.update()
        page.apply(update.pieces)
        swaps += [swap for _, swap, _ in update.pieces]
    assert swaps[:3] == ["innerMorph", "beforeend", "beforeend"]
    assert '<span class="z-k">def</span>' in page.before
    assert page.open == ""


def test_the_marks_that_end_code_are_never_seen_in_it() -> None:
    """A reader does not see the closing fence flash by as code."""
    stream, page = StreamingMarkdown("k-1"), Page()
    for piece in ("```\nx\n", "`", "`", "`"):
        stream.append(piece)
        page.apply(stream.update().pieces)
        assert "`" not in page.html


@pytest.mark.parametrize(
    "line",
    [
        "word " * 20,
        "word and word\n",
        "- item one two three\n",
        "- item\n\n",
        "| 1 | 2 |\n",
        "> quoted\n>\n",
        "A paragraph.\n\n",
        "```\nx\n```\n",
        "[aa]: bbb\n\n",
        "[" * 40,
    ],
)
@pytest.mark.parametrize("head", ["", "```py\n", "| a | b |\n|--|--|\n"])
def test_a_long_stream_costs_in_proportion_to_its_length(head: str, line: str) -> None:
    """Twice the text is about twice the work and twice the bytes, whatever kind of text it is."""

    def cost(length: int) -> tuple[int, int]:
        text = (head + line * (length // len(line) + 1))[:length]
        stream, sent = StreamingMarkdown("k-1"), 0
        for at in range(0, length, 200):
            stream.append(text[at : at + 200])
            sent += sum(len(html) for _, _, html in stream.update().pieces)
        return stream.work, sent

    work, sent = cost(40_000)
    more_work, more_sent = cost(80_000)
    start = 30 * SMALL  # reading a small block anew at every update, until it is no longer small
    assert more_work < 3 * work + start
    assert more_sent < 3 * sent + start
