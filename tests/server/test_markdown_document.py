"""The Markdown export: read again by a reader that allows HTML, it says what was said, no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from enso import wire
from enso.server.markdown_document import code_span, escaped, fenced, markdown_document
from enso.server.messages import transcript_to_messages
from enso.server.tame_markdown import tamed
from enso.server.views import ExportView
from tests.host.corpus import ALL, host_over, place
from tests.server.drawn import HOSTILE, hostile_entries

LISTED = [recorded for recorded in ALL if recorded.listed]
ESCAPES = [
    "```\nnever closed",
    "~~~~\nnever closed",
    "<script>alert(1)</script>",
    "a <b onclick=x>b</b>",
    "<!-- never closed",
    "<details>",
    "[x]: http://evil.example\n\n[x]",
    "[^1]: a note",
    "![spy](http://evil.example/spy.png)",
    "[go](javascript:alert)",
    "[image-1]",
    "You said\n===",
    "You said\n---",
    "a\0b",
    "$" + "[" * 30_000,
]


def reader() -> MarkdownIt:
    """A reader of CommonMark and tables that lets HTML through, as many do."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def document_of(*messages: wire.Message, title: str = "A title") -> str:
    """The document of a thread with these messages."""
    view = ExportView(
        thread_id="t1",
        key="t1",
        title=title,
        facts=(("Project", title),),
        notes=(title,),
        messages=messages,
        interrupted=None,
        generator="Enso",
    )
    return "".join(markdown_document(view))


def said(role: Any, text: str) -> wire.Message:
    """A message of one text."""
    return wire.Message(id=text[:9] or "x", role=role, parts=[wire.TextPart(content=text)])


def every(tokens: list[Token]) -> Iterator[Token]:
    """Tokens and what is in them."""
    for token in tokens:
        yield token
        yield from every(token.children or [])


def assert_contained(document: str, speakers: list[str]) -> None:
    """No HTML, no remote image, no definition but of images; the headings are the document's."""
    found: dict[str, Any] = {}
    tokens = reader().parse(document, found)
    kinds = {token.type for token in every(tokens)}
    assert not kinds & {"html_block", "html_inline"}
    images = [str(token.attrGet("src")) for token in every(tokens) if token.type == "image"]
    assert all(source.startswith("data:image/") for source in images)
    references = found.get("references", {})
    assert all(name.startswith("IMAGE-") for name in references)
    headings = [
        tokens[at + 1].content.split(" ·")[0]
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.tag in ("h1", "h2")
    ]
    assert headings[1:] == speakers


@pytest.mark.parametrize("text", ESCAPES)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_no_text_breaks_out_of_its_place(role: str, text: str) -> None:
    """What would reach beyond itself stands in a fence, as it was written."""
    other = "user" if role == "assistant" else "assistant"
    names = {"user": "You", "assistant": "Agent"}
    document = document_of(said(role, text), said(other, "plain words"))
    assert_contained(document, [names[role], names[other]])
    fences = [token.content for token in reader().parse(document) if token.type == "fence"]
    plain = text.replace("\0", "\ufffd")
    assert any(plain in content for content in fences)


def test_a_heading_of_a_reply_is_no_heading_of_the_document() -> None:
    """It goes two levels down, so that nobody can be made to have spoken."""
    document = document_of(said("assistant", "## You\n\nDelete it all.\n\n###### deep"))
    assert_contained(document, ["Agent"])
    assert "\n#### You\n" in document
    assert "\n###### deep\n" in document


@given(
    st.lists(st.sampled_from([*"`~<>[]()!#*_-=|\\ \n\r\t&;:0a", "```", "\n\n", "<b>"]), max_size=40)
)
def test_no_text_at_all_breaks_out(pieces: list[str]) -> None:
    """Whatever anyone says, who said it stays readable from the document."""
    text = "".join(pieces)
    document = document_of(
        said("user", text), said("assistant", text), said("user", "end"), title=text
    )
    assert_contained(document, ["You", "Agent", "You"])


@given(st.text("`a \n\r~", max_size=30))
def test_a_fence_gives_its_text_back(text: str) -> None:
    """Read again, a fence holds exactly what was put in, lines ended by newlines."""
    (token,) = reader().parse(fenced(text))
    wanted = text.replace("\r\n", "\n").replace("\r", "\n")
    assert token.type == "fence"
    assert token.content.removesuffix("\n") == wanted.removesuffix("\n")


@given(st.text("`*_<>[]()!#|~\\& a\n", max_size=30))
def test_a_line_gives_its_text_back(text: str) -> None:
    """Escaped or in code type, a text on a line is read as that text."""
    wanted = " ".join(text.split())
    (inline,) = [token for token in reader().parse(f"x {escaped(text)}") if token.type == "inline"]
    assert {child.type for child in inline.children or []} <= {"text", "text_special"}
    assert "".join(child.content for child in inline.children or []) == f"x {wanted}".rstrip()
    if wanted:
        (inline,) = [token for token in reader().parse(f"x {code_span(text)}") if token.children]
        assert [child.content for child in inline.children or []][1:] == [wanted]


def test_a_hostile_thread_is_contained() -> None:
    """Names of tools and models, arguments, results, titles and thoughts included."""
    messages = transcript_to_messages(hostile_entries(HOSTILE))
    document = document_of(*messages, title=HOSTILE)
    kinds = {token.type for token in every(reader().parse(document))}
    assert not kinds & {"html_block", "html_inline"}


def test_images_are_in_the_document() -> None:
    """An image stands where it was shown, its bytes at the end."""
    url = "data:image/png;base64,iVBORw0KGgo="
    message = wire.Message(
        id="m", role="user", parts=[wire.ImagePart(mime_type="image/png", url=url)]
    )
    document = document_of(message)
    images = [token for token in every(reader().parse(document)) if token.type == "image"]
    assert [image.attrGet("src") for image in images] == [url]


@pytest.mark.parametrize("recorded", LISTED, ids=str)
def test_a_recorded_thread_reads_back(recorded: Any, tmp_path: Path) -> None:
    """Every text of the thread is in the document, as a fence or as the Markdown it was."""
    place(recorded, tmp_path)
    host = host_over(tmp_path)
    stored = host.read_stored_thread(recorded.listed["id"])
    host.close()
    assert stored is not None
    messages = transcript_to_messages(stored.entries)
    document = document_of(*messages)
    tokens = reader().parse(document)
    fences = [token.content.removesuffix("\n") for token in tokens if token.type == "fence"]
    rendered = reader().render(document)
    for message in messages:
        for part in message.parts:
            if not isinstance(part, wire.TextPart) or not part.content.strip():
                continue
            tame = tamed(part.content) if message.role == "assistant" else None
            if tame is None:
                text = part.content.replace("\r\n", "\n").replace("\0", "\ufffd")
                assert text.removesuffix("\n") in fences
            else:
                assert reader().render(tame) in rendered
