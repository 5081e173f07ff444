"""The press: turns what changed into what is sent, once for all that watch.

A frame is rendered to HTML once, whatever the number of browsers, and not at all without one.
A snapshot is made for one follow, because each page begins at its own message.
"""

from __future__ import annotations

from collections.abc import Sequence

from enso import wire
from enso.server.follow import Aside, Follow, News, Outgoing
from enso.server.frames import partial_of
from enso.server.live_state import Change
from enso.server.looks import dom_token
from enso.server.paging import Window
from enso.server.reading import ThreadReading
from enso.server.render import Renderer
from enso.server.slots import Slot
from enso.server.views import HistoryView
from enso.urls import Urls

GONE = "This thread's file is gone: it was deleted or moved. The next prompt starts it anew."


def _outgoing(frame: wire.Frame, html: str | None) -> Outgoing:
    return (Aside if isinstance(frame, wire.NoticeFrame) else Outgoing)(frame, html)


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
            _outgoing(frame, self._html(slot, frame, new=new) if html else None)
            for frame, new in changes
        )

    def rail(self, frame: wire.RailFrame) -> News:
        """The news of the rail, for every follow of every thread."""
        return News(frame, self._renderer.frame(frame, key=""))

    def snapshot(self, slot: Slot, follow: Follow, reading: ThreadReading) -> Outgoing:
        """The whole state for one follow: with all messages as JSON, with a page's as HTML."""
        frame = reading.snapshot()
        if follow.dialect == "json":
            return Outgoing(frame, None)
        html = self._html(slot, frame)
        if not follow.first or follow.emptied or reading.window.first != follow.first:
            # The page's beginning is not on this branch (or the page was empty): it begins anew.
            html = self._before(slot, reading.window) + html
        if follow.first:
            follow.emptied = not reading.stored
            html += self._gone(slot, reading)
        return Outgoing(frame, html)

    def _gone(self, slot: Slot, reading: ThreadReading) -> str:
        """Whether the file of what the page showed is gone; unsaid when it is there again."""
        said = "" if reading.stored else self._renderer.told(GONE)
        return partial_of(f"gone-{dom_token(slot.thread_id)}", "innerHTML", said)

    def _before(self, slot: Slot, window: Window) -> str:
        """What stands above the page: the way to earlier messages, in place of those shown."""
        key = dom_token(slot.thread_id)
        href = Urls().history(slot.thread_id, before=window.first) if window.before != 0 else None
        view = HistoryView(key=key, messages=(), earlier_href=href, earlier_count=window.before)
        return partial_of(f"before-{key}", "innerHTML", self._renderer.history(view))

    def _html(self, slot: Slot, frame: wire.Frame, *, new: bool = False) -> str:
        return self._renderer.frame(
            frame,
            key=dom_token(slot.thread_id),
            new=new,
            streams=slot.streams,
            base=Urls().thread(slot.thread_id),
        )
