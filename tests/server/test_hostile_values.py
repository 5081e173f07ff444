"""No value breaks out of its text, in pages and in frames, and no template trusts one."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import wire
from enso.server.messages import transcript_to_messages
from enso.server.render import Streams
from enso.server.resources import template_dir
from tests.look.scenes import (
    composer,
    group,
    page,
    pane,
    rail,
    row,
)
from tests.server.drawn import (
    HOSTILE,
    RENDER,
    assert_safe,
    draw,
    hostile_entries,
    pieces,
    snapshot,
)


def hostile_pane(text: str) -> Any:
    """A page with ``text`` in every field of its views."""
    shown = pane(
        hostile_entries(text),
        title=text,
        project_name=text,
        project_detail=text,
        earlier_href=f"/threads/x?{text}",
        earlier_count=3,
        notice=text,
        follow_href=f"/follow?{text}",
        composer=composer(
            draft=text,
            error=text,
            model_label=text,
            mode_label=text,
            prompt_id=text,
            projects=((text, text), ("b", "b")),
        ),
    )
    rows = [row(1, text, text, message_count=3, last_activity_at=text, sign_word=text)]
    return page(shown, rail(groups=(group("g", text, rows),), query=text))


@pytest.mark.parametrize("text", [HOSTILE, "javascript:alert(1)", "{{ 7*7 }}{% raw %}", "&lt;b>"])
def test_no_value_breaks_out_of_a_page(text: str) -> None:
    """Hostile text in every field is text on the page, and nothing else."""
    html = RENDER.page(hostile_pane(text))
    assert_safe(html)
    assert "<script>alert" not in html
    assert "<hx-partial" not in html
    assert unescape(html).count(text) > 20


@given(st.text(st.sampled_from("<>\"'&/={}% \n\0ax\ud83d\u202e]`-"), max_size=40))
def test_no_text_breaks_out_of_a_frame(text: str) -> None:
    """Whatever a thread holds, a snapshot of it is its pieces and nothing more."""
    messages = transcript_to_messages(hostile_entries(text))
    for _, _, html in pieces(draw(snapshot(messages))):
        assert_safe(html)
    (_, _, html), *_ = pieces(draw(wire.NoticeFrame(message=text)))
    assert_safe(html)


@given(
    st.lists(
        st.sampled_from(["<script>", "</hx-partial>", "a", "\n\n", "```", "`", "<"]), max_size=9
    )
)
def test_no_delta_breaks_out_of_its_frame(deltas: list[str]) -> None:
    """Text that streams is escaped in every way it is drawn."""
    streams = Streams()
    for delta in deltas:
        frame = draw(wire.PartDeltaFrame(message_id=HOSTILE, index=0, delta=delta), streams=streams)
        for _, _, html in pieces(frame) if frame else []:
            assert_safe(html)


@pytest.mark.parametrize("path", sorted(template_dir().glob("*.html")), ids=lambda path: path.name)
def test_a_template_trusts_nothing_by_itself(path: Path) -> None:
    """No template marks a value safe, nor holds a style, a handler or a script of its own."""
    source = path.read_text()
    assert "|safe" not in source.replace(" ", "")
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?! src=)|hx-on|hx-vals='?js:", source)
