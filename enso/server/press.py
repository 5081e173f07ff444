"""The press: turns what changed into what is sent, once for all that watch.

A frame is rendered to HTML once, whatever the number of browsers, and not at all without one.
A snapshot is made for one follow, because each page begins at its own message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enso import wire
from enso.server.follow import Follow, Outgoing
from enso.server.live_state import Change
from enso.server.looks import dom_token
from enso.server.paging import last_page, page_from
from enso.server.reading import ThreadReading
from enso.server.registry import Slot
from enso.server.render import Renderer

ReadSlot = Callable[[Slot], ThreadReading]


class Press:
    """Publishes changes and makes snapshots. Every method wants the slot's lock held."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def publish(self, slot: Slot, changes: Sequence[Change]) -> None:
        """Give changes to the slot's follows, in order."""
        if not len(slot.follows):
            return
        html = slot.follows.speaks("html")
        slot.follows.publish(
            Outgoing(frame, self._html(slot, frame, new=new) if html else None)
            for frame, new in changes
        )

    def rail(self, frame: wire.RailFrame) -> Outgoing:
        """The news of the rail, for every follow of every thread."""
        return Outgoing(frame, self._renderer.frame(frame, key=""))

    def snapshot(self, slot: Slot, follow: Follow, reading: ThreadReading) -> Outgoing:
        """The whole state for one follow: all messages as JSON, its own page's as HTML."""
        frame = reading.snapshot()
        if follow.dialect == "json":
            return Outgoing(frame, None)
        window = page_from(frame.messages, follow.first) if follow.first else None
        window = window or last_page(frame.messages)
        shown = frame.model_copy(update={"messages": list(window.messages)})
        return Outgoing(frame, self._html(slot, shown))

    def _html(self, slot: Slot, frame: wire.Frame, *, new: bool = False) -> str:
        return self._renderer.frame(
            frame, key=dom_token(slot.thread_id), new=new, streams=slot.streams
        )
