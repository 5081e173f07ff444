"""Markdown to HTML: what is drawn, what is refused, and that nothing hostile comes through."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from types import FrameType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enso.server.markdown import MAX_HIGHLIGHTED, MAX_RENDERED, plain, render_markdown


class Reader(HTMLParser):
    """Reads HTML as a browser would, and keeps its tags with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.text += data


def read(html: str) -> Reader:
    """The tags and text of ``html``."""
    reader = Reader()
    reader.feed(str.__str__(html))  # a Markup would escape what the parser cuts out of it
    reader.close()
    return reader


ALLOWED = {
    "a", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img",
    "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr",
    "ul",
}  # fmt: skip


def assert_safe(html: str) -> None:
    """Nothing in ``html`` runs, loads from elsewhere, styles, or leads into Enso's routes."""
    for tag, attributes in read(html).tags:
        assert tag in ALLOWED
        for name, value in attributes.items():
            assert not name.startswith(("on", "hx-", "data-"))
            assert name not in {"style", "id", "srcset", "action"}
            if name == "href":
                assert re.match(r"(https?://|mailto:)", value or "", re.IGNORECASE)
            if name == "src":
                assert re.match(r"data:image/(png|jpeg|gif|webp);base64,", value or "")
        if tag == "a":
            assert attributes["rel"] == "noopener noreferrer nofollow"
            assert attributes["target"] == "_blank"


# -- what is drawn ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, html",
    [
        ("*a* **b** `c` ~~d~~", "<em>a</em> <strong>b</strong> <code>c</code> <s>d</s>"),
        ("# A\n\n###### B", '<h1 dir="auto">A</h1>\n<h6 dir="auto">B</h6>'),
        ("3. a\n4. b", '<ol start="3" dir="auto">\n<li>a</li>\n<li>b</li>\n</ol>'),
        ("> a", '<blockquote dir="auto">\n<p dir="auto">a</p>\n</blockquote>'),
        ("a  \nb", '<p dir="auto">a<br>\nb</p>'),
        ("    x < y", '<pre class="code" tabindex="0" dir="ltr"><code>x &lt; y</code></pre>'),
    ],
)
def test_what_was_meant_is_drawn(text: str, html: str) -> None:
    """CommonMark as people and models write it; every block finds its own direction."""
    assert html in render_markdown(text)


def test_code_is_coloured_by_classes_alone() -> None:
    """A fence of a known language is coloured; the pages' policy allows no inline style."""
    html = render_markdown("```python\ndef f(): return '<b>'\n```")
    assert html == (
        '<pre class="code" tabindex="0" dir="ltr"><code><span class="z-k">def</span>'
        '<span class="z-w"> </span><span class="z-nf">f</span><span class="z-p">():</span> '
        '<span class="z-k">return</span> <span class="z-s1">\'&lt;b&gt;\'</span></code></pre>\n'
    )


@pytest.mark.parametrize("language", ["", "klingon", 'py"onload=x', "python " + "x" * 99, "<b>"])
def test_code_of_an_unknown_language_is_shown_plain(language: str) -> None:
    """Whatever stands behind the fence, the code is shown and nothing else."""
    html = render_markdown(f"```{language}\nx < 1\n```")
    assert read(html).text.strip() == "x < 1"
    assert_safe(html)


def test_very_long_code_is_not_coloured() -> None:
    """Colouring has a bound; the code is still all there."""
    code = "x = 1\n" * (MAX_HIGHLIGHTED // 6 + 1)
    html = render_markdown(f"```python\n{code}```")
    assert "<span" not in html
    assert read(html).text.strip() == code.strip()


def test_a_table_scrolls_in_its_own_box() -> None:
    """A wide table never makes the page wide; the sides of its cells are classes."""
    html = render_markdown("| a | b |\n|--|--:|\n| 1 | 2 |")
    assert html.startswith('<div class="table" tabindex="0" role="group">\n<table>')
    assert '<th class="right">b</th>' in html
    assert "style" not in html


# -- links and images ---------------------------------------------------------------------------


def test_a_link_out_opens_apart_and_tells_nothing() -> None:
    """Links of a reply open in a page of their own that does not learn where it came from."""
    assert render_markdown("[a](https://example.org/?a=1&b=2 'why')") == (
        '<p dir="auto"><a href="https://example.org/?a=1&amp;b=2" title="why" target="_blank" '
        'rel="noopener noreferrer nofollow">a</a></p>\n'
    )


@pytest.mark.parametrize(
    "path", ["docs/money.md", "/threads/x", "../a b.md", "#part", "//evil.org/x"]
)
def test_a_path_is_words_and_no_link(path: str) -> None:
    """A file's path has no target here, and must not lead to a route of Enso's."""
    html = render_markdown(f"[the rule](<{path}>)")
    reader = read(html)
    assert not [tag for tag, _ in reader.tags if tag == "a"]
    assert reader.text.strip() == f"the rule {path}"


def test_a_path_that_its_words_say_is_said_once() -> None:
    """The usual ``[docs/a.md](docs/a.md)`` reads as the path alone."""
    assert read(render_markdown("see [docs/a.md](docs/a.md).")).text == "see docs/a.md.\n"


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "vbscript:x",
        "file:///etc/passwd",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "blob:x",
        "about:blank",
    ],
)
@pytest.mark.parametrize("mark", ["", "!"])
def test_other_schemes_are_text_as_they_were_written(mark: str, target: str) -> None:
    """A link or image of any other scheme is neither; its source is shown."""
    html = render_markdown(f"{mark}[x]({target})")
    assert {tag for tag, _ in read(html).tags} == {"p"}
    assert target in read(html).text


def test_an_image_elsewhere_is_a_link_and_never_fetched() -> None:
    """Showing it would tell its server that somebody read this, and when."""
    html = render_markdown("![a *cat*](https://example.org/cat.png)")
    (_, link) = read(html).tags[1]
    assert link["href"] == "https://example.org/cat.png"
    assert read(html).text.strip() == "a *cat*"
    assert "<img" not in html


def test_an_image_whose_bytes_are_there_is_shown() -> None:
    """A data URL of a plain kind is drawn inline."""
    html = render_markdown("![dot](data:image/png;base64,iVBORw0KGgo=)")
    assert '<img src="data:image/png;base64,iVBORw0KGgo=" alt="dot">' in html


def test_raw_html_is_shown_as_text() -> None:
    """A quoted page is read, not run."""
    source = "<script>alert(1)</script> <img src=x onerror=alert(1)> <b>bold</b>"
    html = render_markdown(source)
    assert read(html).text.strip() == source
    assert {tag for tag, _ in read(html).tags} == {"p"}


# -- whatever comes -------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "<script>", "</script>", "<img src=x onerror=alert(1)>", "javascript:", "data:text/html,",
        "](", "[", "![", ")", "`", "```\n", "~~~", "> ", "- ", "1. ", "\n", "\n\n", "|", "|-|-|\n",
        "*", "_", "~~", "<", ">", "\"", "'", "&lt;", "&#0;", "\0", "\r", "\u2028", "\ufeff", "\\",
        "<http://x", "<javascript:x>", "[a]: javascript:x\n", "    ", "\t", "https://a.b/c", " ",
        "</hx-partial>", "<hx-partial hx-target='#pane'>", "onclick=x", "#", "a", "é", "ש",
    ]
)  # fmt: skip


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join)))
@example("[a](javascript&colon;alert(1))")
@example("<a href='javascript:alert(1)'>x</a>")
@example("[a]: javascript:alert(1)\n\n[a]")
@example('![a](data:image/png;base64,AA"onerror=alert(1))')
@example('```"><script>alert(1)</script>\nx\n```')
def test_no_text_becomes_anything_but_safe_html(text: str) -> None:
    """For any text at all: no script, no handler, no style, no URL that is not allowed."""
    html = render_markdown(text)
    assert_safe(html)
    assert "hx-partial" not in re.sub(r"&lt;/?hx-partial", "", html)


HOSTILE = {
    "nested quotes": "> " * 100_000 + "a",
    "quotes on lines": "\n".join(">" * n for n in range(600)),
    "opening brackets": "[" * 1_000_000,
    "images that never close": "![" * 9_000,
    "links that never close": "[a](" * 15_000,
    "emphasis": "*a_ " * 20_000,
    "backticks": " ".join("`" * n for n in range(1, 500)),
    "nested lists": "- " * 50_000 + "a",
    "a very wide table": "|a" * 5_000 + "|\n" + "|-" * 5_000 + "|\n" + "|b|\n" * 5_000,
    "entities": "&#" * 50_000,
    "angle brackets": "<" * 100_000,
    "one line of a megabyte": "x" * 1_000_000,
    "quotes that lazy lines go on in": "> > > a\nb\n" * 18_000,
    "lazy lines in nine quotes": "> " * 9 + "a\n" + "b\n" * 95_000,
    "quotes of blank lines": "> > > a\n\n" * 20_000,
    "lists of lists": "- - - - - - - - a\n" * 11_000,
    "a long list": "- a\n" * 50_000,
    "pairs of marks": "*_" * 100_000,
    "links that end in nothing": "[aaaaaaaaa](" * 16_000,
    "a definition that goes on": "[a]: b '" + "c\n" * 95_000,
    "many definitions": "".join(f"[a{n}]: b 'c\n" for n in range(12_000)),
    "rows that are filled up": "|a" * 5_000 + "|\n" + "|-" * 5_000 + "|\n" + "|b|\n" * 5_000,
    "many tables": "a|b\n-|-\n" * 24_000,
    "ampersands": "&" * 199_000,
    "breaks": "a\\\n" * 60_000,
    "headings": "# a\n" * 49_000,
    "code of many languages": "```css\na{b:\n```\n" * 11_000,
    "addresses": "https://a.b/([ " * 13_000,
    "lines of two characters": "a\n" * 99_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_that_is_made_to_hang_a_reader_does_not(name: str) -> None:
    """It is drawn, or shown as it was written, in a few seconds and without a fault."""
    begun = time.process_time()
    html = render_markdown(HOSTILE[name])
    assert time.process_time() - begun < 8
    assert html


def calls_in(act: Callable[[], object]) -> int:
    """How many functions of Python are called while ``act`` runs: its work, on any machine."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_is_more_work_than_a_long_reply(name: str) -> None:
    """What would be is shown as it was written; nothing of it is lost."""
    text = HOSTILE[name]
    assert calls_in(lambda: render_markdown(f"{text}\n")) < 2_000_000


def test_a_long_reply_of_people_is_read() -> None:
    """200,000 characters of prose, lists, tables and code are no hostile text."""
    section = (
        "## Part\n\nA paragraph of *some* length with `code`, a [link](https://a.example) and more "
        "words, as replies have them. "
        + "What is said in a paragraph takes a few lines. "
        * 6
        + "\n\n- one item of a list\n- another one\n\n"
        "| name | size |\n|------|-----:|\n| a.py | 12 |\n\n```python\ndef f(x: int) -> int:\n"
        "    return x * 2\n```\n\n"
    )
    html = render_markdown(section * (MAX_RENDERED // len(section)))
    assert html.count("<h2") == MAX_RENDERED // len(section)


@pytest.mark.parametrize("mark, target", [("", "https://a.b/"), ("!", "data:image/png;base64,")])
def test_one_definition_is_not_repeated_without_end(mark: str, target: str) -> None:
    """A target of 90,000 characters and ten thousand links to it would be a page of a gigabyte."""
    text = f"[a]: {target}{'b' * 90_000}\n\n" + f"{mark}[a] " * 10_000
    html = render_markdown(text)
    assert html == plain(text)


def test_a_text_beyond_the_bound_is_shown_as_it_was_written() -> None:
    """Nothing is lost: the text stands there, escaped, its lines kept."""
    text = "<b>&\n" * (MAX_RENDERED // 5 + 1)
    assert render_markdown(text) == plain(text)
    assert read(plain(text)).text == text


DEEP_LISTS = "\n".join(f"{'  ' * level}- level {level}" for level in range(40))
DEEP_QUOTES = "\n".join(f"{'> ' * level}quote {level}" for level in range(1, 40))


def test_the_last_line_of_code_is_coloured_as_the_others() -> None:
    """It ends with the code, and is no fault for that."""
    html = render_markdown("```diff\n- old\n+ new\n```")
    assert '<span class="z-gd">- old</span>\n<span class="z-gi">+ new</span></code>' in html
    assert "<code>x\n\n</code>" in render_markdown("```python\nx\n\n\n```").replace(
        '<span class="z-n">x</span>', "x"
    )


@pytest.mark.parametrize("deep", [DEEP_LISTS, DEEP_QUOTES, "- " * 30 + "end"])
def test_nothing_is_left_out_of_a_text_that_goes_too_deep(deep: str) -> None:
    """Blocks before it are drawn; from it on, all is there as it was written, what follows too."""
    html = render_markdown(f"**Before**\r\n\r\n{deep}\n\nAfter <b>\n")
    assert html.startswith('<p dir="auto"><strong>Before</strong></p>')
    assert_safe(html)
    assert read(html).text == f"Before\n{deep}\n\nAfter <b>\n"


def test_a_text_that_goes_as_deep_as_is_read_is_drawn() -> None:
    """Nine lists in one another are lists."""
    nine = "\n".join(f"{'  ' * level}- level {level}" for level in range(9))
    html = render_markdown(f"{nine}\n\nAfter")
    assert html.count("<ul") == 9
    assert html.endswith('<p dir="auto">After</p>\n')
