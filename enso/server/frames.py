"""Frames to HTML: which element of a page each frame changes, and how.

Owns the DOM ids that frames aim at, with the templates that make them. A frame is one or more
``<hx-partial hx-target="#id" hx-swap="…">``, and always starts with that tag: a frame that parses
as JSON would be dropped by the browser's side without a word. A target that is not on the page is
passed over there, so ids hold the thread's key: a late frame misses the next thread's pane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from enso import wire
from enso.server import looks
from enso.server.streaming import StreamingMarkdown


class Streams:
    """The growing texts of one thread's streaming message, each rendered block by block.

    One for a thread, whoever watches it; guarded by whoever guards the thread. Deltas are drawn
    against it, so every frame must be drawn once, in order.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], StreamingMarkdown] = {}

    def grow(self, key: str, message_id: str, index: int, delta: str) -> StreamingMarkdown:
        """The stream of one part with ``delta`` added; a new one when there is none."""
        at = (message_id, index)
        if at not in self._texts:
            self._texts[at] = StreamingMarkdown(_part_ids(key, message_id, index))
        stream = self._texts[at]
        stream.append(delta)
        return stream

    def html(self, key: str, message_id: str, index: int, content: str) -> Markup:
        """The HTML of one part whose whole text so far is ``content``."""
        stream = self._texts.get((message_id, index))
        if stream is None or stream.text != content:
            self._texts.pop((message_id, index), None)
            stream = self.grow(key, message_id, index, content)
        stream.update()
        return Markup(stream.html())  # noqa: S704 - cleaned where it was rendered

    def forget(self, message_id: str) -> None:
        """Drop a message that no longer streams."""
        for at in [at for at in self._texts if at[0] == message_id]:
            del self._texts[at]


def _part_ids(key: str, message_id: str, index: int) -> str:
    return f"{key}-{looks.dom_token(message_id)}-{index}"


def partial_of(target: str, swap: str, html: str) -> str:
    """One piece of a frame: ``html`` for the element with the id ``target``."""
    return f'<hx-partial hx-target="#{target}" hx-swap="{swap}">{html}</hx-partial>'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aim:
    """Where a frame goes: the thread's key, and what is known of the page."""

    key: str
    new: bool
    streams: Streams
    rail_href: str

    def stream(self) -> Callable[[str, int, str], Markup]:
        """Draws a streaming part for the templates."""
        return partial(self.streams.html, self.key)


class FrameDrawer:
    """Draws frames with the macros of ``templates/_messages.html``."""

    def __init__(self, macros: Any) -> None:
        self._macros = macros
        self._draw: dict[type[Any], Callable[[Any, _Aim], str]] = {
            wire.SnapshotFrame: self._snapshot,
            wire.StatusFrame: self._status,
            wire.MessageFrame: self._message,
            wire.MessageDroppedFrame: self._dropped,
            wire.PartFrame: self._part,
            wire.PartDeltaFrame: self._delta,
            wire.UsageFrame: self._usage,
            wire.NoticeFrame: self._notice,
            wire.RailFrame: self._rail,
            wire.ModeFrame: self._nothing,
            wire.HeartbeatFrame: self._nothing,
        }

    def draw(
        self, frame: wire.Frame, *, key: str, new: bool, streams: Streams, rail_href: str
    ) -> str:
        """The frame as HTML; see ``Renderer.frame``."""
        aim = _Aim(key=key, new=new, streams=streams, rail_href=rail_href)
        return self._draw[type(frame)](frame, aim)

    def _snapshot(self, frame: wire.SnapshotFrame, aim: _Aim) -> str:
        tail = self._macros.messages(looks.looks(frame.messages), aim.key, aim.stream())
        interrupted = self._macros.interrupted(frame.interrupted)
        status = self._macros.status(frame.status, not frame.messages)
        return "".join(
            (
                partial_of(f"tail-{aim.key}", "innerMorph", tail),
                partial_of(f"interrupted-{aim.key}", "innerMorph", interrupted),
                partial_of(f"status-{aim.key}", "innerMorph", status),
                partial_of(f"usage-{aim.key}", "innerMorph", self._macros.usage(frame.usage)),
                partial_of(f"context-{aim.key}", "innerMorph", self._macros.context(frame.context)),
            )
        )

    def _status(self, frame: wire.StatusFrame, aim: _Aim) -> str:
        # Not morphed: a line that is spoken aloud must change as a whole to be spoken.
        return partial_of(f"status-{aim.key}", "innerHTML", self._macros.status(frame, False))

    def _message(self, frame: wire.MessageFrame, aim: _Aim) -> str:
        message = frame.message
        if not message.streaming:
            aim.streams.forget(message.id)
        html = self._macros.message(looks.message_look(message), aim.key, aim.stream())
        if not aim.new:
            token = looks.dom_token(message.id)
            return partial_of(f"m-{aim.key}-{token}", "outerMorph", html)
        # What comes after an interrupted tail continues it.
        settled = partial_of(f"interrupted-{aim.key}", "innerHTML", "")
        return partial_of(f"tail-{aim.key}", "beforeend", html) + settled

    def _dropped(self, frame: wire.MessageDroppedFrame, aim: _Aim) -> str:
        aim.streams.forget(frame.message_id)
        return partial_of(f"m-{aim.key}-{looks.dom_token(frame.message_id)}", "delete", "")

    def _part(self, frame: wire.PartFrame, aim: _Aim) -> str:
        token = looks.dom_token(frame.message_id)
        before: list[wire.MessagePart] = [wire.TextPart(content="")] * frame.index
        message = wire.Message(
            id=frame.message_id, role="assistant", parts=[*before, frame.part], streaming=True
        )
        look = looks.part_look(message, frame.index)
        html = self._macros.part(look, aim.key, token, message, aim.stream())
        if aim.new:
            return partial_of(f"mp-{aim.key}-{token}", "beforeend", html)
        return partial_of(f"p-{aim.key}-{token}-{frame.index}", "outerMorph", html)

    def _delta(self, frame: wire.PartDeltaFrame, aim: _Aim) -> str:
        stream = aim.streams.grow(aim.key, frame.message_id, frame.index, frame.delta)
        return "".join(partial_of(*piece) for piece in stream.update().pieces)

    def _usage(self, frame: wire.UsageFrame, aim: _Aim) -> str:
        usage = partial_of(f"usage-{aim.key}", "innerHTML", self._macros.usage(frame.usage))
        context = self._macros.context(frame.context)
        return usage + partial_of(f"context-{aim.key}", "innerHTML", context)

    def _notice(self, frame: wire.NoticeFrame, aim: _Aim) -> str:
        return partial_of(f"notice-{aim.key}", "innerHTML", self._macros.notice(frame.message))

    def _rail(self, _frame: wire.RailFrame, aim: _Aim) -> str:
        return partial_of("rail-news", "innerHTML", self._macros.rail_news(aim.rail_href))

    def _nothing(self, _frame: Any, _aim: _Aim) -> str:
        return ""
