"""What was drawn, read again: elements of HTML, pieces of a frame, and whether they are safe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from enso import transcript, wire
from enso.server.messages import transcript_to_messages
from enso.server.render import Renderer
from tests.look.scenes import (
    SPENT,
    agent,
    refused,
    result,
    user,
)

RENDER = Renderer()
MODE = wire.PermissionMode(mode="ask", modes=[])
VOID = {"meta", "link", "input", "img", "br", "hr", "path", "circle", "rect", "use"}
HOSTILE = (
    "</script></hx-partial><script>alert('x')</script>\"' onload=x <hx-partial hx-target='#pane'>"
)


class Page(HTMLParser):
    """What a browser would make of HTML: its elements, and whether they nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element of a drawing."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """An end must be that of the element which is open."""
        assert self._open
        assert self._open.pop() == tag, f"</{tag}> closes nothing that is open"

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self) -> list[str]:
        """Every id."""
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def one(self, element_id: str) -> dict[str, str]:
        """The attributes of the element with an id."""
        (found,) = [a for _, a in self.elements if a.get("id") == element_id]
        return found


def assert_safe(html: str) -> Page:
    """No script but our files, no handler, no style, every id once, all elements nested."""
    read = Page(html)
    for tag, attributes in read.elements:
        assert tag not in {"style", "iframe", "object", "embed", "base"}
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        if tag == "script":
            assert attributes["src"].startswith("/static/")
        for name in ("href", "src", "action"):
            assert not attributes.get(name, "").lower().startswith(("javascript:", "vbscript:"))
    ids = read.ids()
    assert len(set(ids)) == len(ids)
    return read


PARTIAL = re.compile(
    r'<hx-partial hx-target="#([A-Za-z][A-Za-z0-9-]*(?: > :has\(> \.outcome\))?)" '
    r'hx-swap="(\w+)">(.*?)</hx-partial>',
    re.DOTALL,
)


def pieces(frame: str) -> list[tuple[str, str, str]]:
    """A frame's pieces as (target, swap, HTML); fails when there is anything else in it."""
    assert frame.startswith("<hx-partial")
    found = PARTIAL.findall(frame)
    again = "".join(
        f'<hx-partial hx-target="#{target}" hx-swap="{swap}">{html}</hx-partial>'
        for target, swap, html in found
    )
    assert again == frame
    return found


def words(html: str) -> str:
    """The text of some HTML, its white space as a reader sees it."""
    return " ".join(Page(html).text.split())


def drawn(*entries: transcript.TranscriptEntry) -> str:
    """Messages of a transcript as HTML."""
    return str(RENDER.messages(transcript_to_messages(entries), key="k"))


def draw(frame: wire.Frame, **options: Any) -> str:
    """A frame of the thread ``k``."""
    return RENDER.frame(frame, key="k", **options)


def snapshot(messages: Sequence[wire.Message], **fields: Any) -> wire.SnapshotFrame:
    """A snapshot of the thread ``k``."""
    status = wire.Status(live=False, busy=False, generation=0, word="cold")
    return wire.SnapshotFrame(
        thread_id="k",
        project_id="p",
        messages=list(messages),
        permission_mode=MODE,
        status=status,
        usage=SPENT,
        **fields,
    )


def hostile_entries(text: str) -> list[transcript.TranscriptEntry]:
    """A transcript with ``text`` in every field that a file could put it in."""
    return [
        user(f"u{text}", text, transcript.ImagePart(text, text)),
        transcript.TranscriptMarker(id=f"k{text}", kind="custom", title=text, text=text),
        agent(
            f"a{text}",
            transcript.ThinkingPart(text),
            transcript.TextPart(text),
            *(
                transcript.ToolCallPart(f"{name}{text}", name, arguments)
                for name in ("read", "bash", "edit", "write", "grep", text)
                for arguments in [{"path": text, "command": text, "pattern": text, text: text}]
            ),
            provider=text,
            model=text,
        ),
        result(f"edit{text}", text, details={"diff": f"+{text}\n-{text}"}),
        result(f"bash{text}", text, transcript.ImagePart(text, text), is_error=True),
        agent(f"b{text}", transcript.TextPart(text), stop_reason="length", model=text),
        refused(f"r{text}", provider=text, model=text, reason=text),
    ]
