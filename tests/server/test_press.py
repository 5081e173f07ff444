"""The press: a frame is rendered once, whoever watches, and not at all when nobody reads it."""

from __future__ import annotations

from typing import Any

from enso import wire
from enso.server.follow import Dialect, Follow, Outgoing
from enso.server.live_state import Change
from enso.server.press import Press
from enso.server.render import Renderer
from enso.server.slots import Slot

WORDS = 40


class CountingRenderer(Renderer):
    """The renderer, which counts the frames it drew."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0

    def frame(self, frame: wire.Frame, **options: Any) -> str:
        """Draw and count."""
        self.drawn += 1
        return super().frame(frame, **options)


def watched(slot: Slot, dialect: Dialect) -> Follow:
    """A follow of the slot that has had its snapshot."""
    hello = Outgoing(wire.NoticeFrame(message="all"), "all")
    follow = Follow(lock=slot.lock, snapshot=lambda _: hello, dialect=dialect)
    with slot.lock:
        slot.follows.join(follow)
    assert follow.next(1)
    return follow


def stream(press: Press, slot: Slot) -> None:
    """A streaming message of ``WORDS`` deltas."""
    message = wire.Message(id="m1", role="assistant", parts=[], streaming=True)
    part = wire.PartFrame(message_id="m1", index=0, part=wire.TextPart(content=""))
    deltas = [
        Change(wire.PartDeltaFrame(message_id="m1", index=0, delta=f"word {number}\n\n"))
        for number in range(WORDS)
    ]
    with slot.lock:
        press.publish(slot, [Change(wire.MessageFrame(message=message), new=True)])
        press.publish(slot, [Change(part, new=True)])
        for delta in deltas:
            press.publish(slot, [delta])


def taken(follow: Follow) -> list[object]:
    """All that waits in a follow."""
    texts: list[object] = []
    while (text := follow.next(0)) is not None:
        texts.append(text)
    return texts


def test_a_frame_is_rendered_once_for_fifty_follows() -> None:
    """Each frame is drawn once and told as JSON once: all follows of a dialect get one text."""
    renderer, slot = CountingRenderer(), Slot("t1")
    html = [watched(slot, "html") for _ in range(25)]
    json = [watched(slot, "json") for _ in range(25)]
    stream(Press(renderer), slot)
    assert renderer.drawn == WORDS + 2
    for follows in (html, json):
        first, *others = [taken(follow) for follow in follows]
        assert len(first) == WORDS + 2
        for texts in others:
            assert all(mine is yours for mine, yours in zip(texts, first, strict=True))


def test_what_nobody_reads_is_not_rendered() -> None:
    """Without a page that watches no HTML is made; without any follow nothing is."""
    renderer, slot = CountingRenderer(), Slot("t1")
    stream(Press(renderer), slot)
    follow = watched(slot, "json")
    stream(Press(renderer), slot)
    assert renderer.drawn == 0
    assert len(taken(follow)) == WORDS + 2
