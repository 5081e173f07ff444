"""Views, messages and frames to HTML.

Owns the names of DOM ids that frames aim at, and the order in which a frame's pieces are applied.
Everything is escaped by the templates; the one HTML that is trusted comes from ``markdown``. Knows no
route: links come in the views, static files through ``static_url``.

A frame is one or more ``<hx-partial hx-target="#id" hx-swap="…">``. It always starts with that tag: a
frame that parses as JSON would be dropped by the browser's side without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, assert_never

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from enso import wire
from enso.server import looks, resources, words
from enso.server.markdown import render_markdown
from enso.server.streaming import StreamingMarkdown
from enso.server.views import ErrorView, HistoryView, PageView, PaneView, RailView


def plain_static_url(name: str) -> str:
    """The URL of a static file when nothing gives it a version."""
    return f"/static/{name}"


class Streams:
    """The growing texts of one thread's streaming message, each rendered block by block.

    One for a thread, whoever watches it; guarded by whoever guards the thread. Deltas are rendered
    against it, so every frame must be rendered once, in order.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], StreamingMarkdown] = {}

    def text(self, message_id: str, index: int, ids: str) -> StreamingMarkdown:
        """The stream of one part, a new one when there is none; ``ids`` names it in the DOM."""
        return self._texts.setdefault((message_id, index), StreamingMarkdown(ids))

    def set(self, message_id: str, index: int, ids: str, content: str) -> StreamingMarkdown:
        """The stream of one part whose whole text so far is ``content``."""
        stream = self._texts.get((message_id, index))
        if stream is None or stream.text != content:
            stream = StreamingMarkdown(ids)
            stream.append(content)
            stream.update()
            self._texts[message_id, index] = stream
        return stream

    def forget(self, message_id: str) -> None:
        """Drop a message that no longer streams."""
        for key in [key for key in self._texts if key[0] == message_id]:
            del self._texts[key]


class Renderer:
    """Renders every template. Safe to use from many workers."""

    def __init__(
        self,
        *,
        static_url: Callable[[str], str] = plain_static_url,
        templates: Path | None = None,
    ) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(templates or resources.template_dir()),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        self._environment.globals.update(static_url=static_url, words=words, looks=looks)
        self._environment.filters["markdown"] = render_markdown
        macros = self._environment.get_template("_messages.html").module
        self._macros: Any = macros

    # -- pages ----------------------------------------------------------------------------------

    def page(self, view: PageView) -> str:
        """The whole page: rail and pane."""
        return self._render(
            "page.html",
            view=view,
            rail=view.rail,
            pane=view.pane,
            messages=self.messages(view.pane.messages, key=view.pane.key),
        )

    def pane(self, view: PaneView) -> str:
        """What stands inside ``#pane``, a ``<title>`` before it."""
        return self._render(
            "_pane.html",
            pane=view,
            messages=self.messages(view.messages, key=view.key),
            with_title=True,
        )

    def rail(self, view: RailView) -> str:
        """What stands inside ``#rail``."""
        return self._render("_rail.html", rail=view)

    def rail_rows(self, view: RailView) -> str:
        """What stands inside ``#rail-list``: groups, rows, and the way to more."""
        return self._render("_rail_rows.html", rail=view)

    def history(self, view: HistoryView) -> str:
        """What replaces ``#earlier-<key>``: a page of earlier messages, behind the way to more."""
        return self._render(
            "_history.html",
            history=view,
            messages=self.messages(view.messages, key=view.key),
        )

    def error(self, view: ErrorView, *, page: bool) -> str:
        """An error: a whole page that holds ``#pane``, or a line for the place that asked."""
        return self._render("error.html" if page else "_error.html", view=view, rail=view.rail)

    def message(self, message: wire.Message, *, key: str, streams: Streams | None = None) -> Markup:
        """One message, with the DOM ids that frames aim at."""
        return Markup(self._macros.message(looks.message_look(message), key, self._stream(key, streams)))

    def messages(
        self, messages: Sequence[wire.Message], *, key: str, streams: Streams | None = None
    ) -> Markup:
        """Messages under one another, runs and refused attempts folded."""
        return Markup(self._macros.messages(looks.looks(messages), key, self._stream(key, streams)))

    # -- frames ---------------------------------------------------------------------------------

    def frame(
        self,
        frame: wire.Frame,
        *,
        key: str,
        new: bool = True,
        streams: Streams | None = None,
        rail_href: str = "/rail",
    ) -> str:
        """A frame as partials; empty when it says nothing on a page (a heartbeat, a mode).

        ``key`` is the thread's part of DOM ids. ``new``: the message or part of this frame is not on
        the page yet. ``streams`` holds what streams; without it a delta is appended as plain text.
        """
        match frame:
            case wire.SnapshotFrame():
                return self._snapshot(frame, key, streams)
            case wire.StatusFrame():
                return partial_of(f"status-{key}", "innerHTML", self._macros.status(frame, False))
            case wire.MessageFrame():
                return self._message_frame(frame.message, key, new, streams)
            case wire.MessageDroppedFrame():
                if streams is not None:
                    streams.forget(frame.message_id)
                return partial_of(f"m-{key}-{looks.dom_token(frame.message_id)}", "delete", "")
            case wire.PartFrame():
                return self._part_frame(frame, key, new, streams)
            case wire.PartDeltaFrame():
                return self._delta(frame, key, streams or Streams())
            case wire.UsageFrame():
                return partial_of(f"usage-{key}", "innerHTML", self._macros.usage(frame.usage))
            case wire.NoticeFrame():
                return partial_of(f"notice-{key}", "innerHTML", self._macros.notice(frame.message))
            case wire.RailFrame():
                return partial_of("rail-news", "innerHTML", self._macros.rail_news(rail_href))
            case wire.ModeFrame() | wire.HeartbeatFrame():
                return ""
            case _:
                assert_never(frame)

    def _snapshot(self, frame: wire.SnapshotFrame, key: str, streams: Streams | None) -> str:
        tail = self.messages(frame.messages, key=key, streams=streams)
        interrupted = self._macros.interrupted(frame.interrupted)
        return "".join(
            (
                partial_of(f"tail-{key}", "innerMorph", tail),
                partial_of(f"interrupted-{key}", "innerMorph", interrupted),
                partial_of(f"status-{key}", "innerMorph", self._macros.status(frame.status, False)),
                partial_of(f"usage-{key}", "innerMorph", self._macros.usage(frame.usage)),
            )
        )

    def _message_frame(
        self, message: wire.Message, key: str, new: bool, streams: Streams | None
    ) -> str:
        if streams is not None and not message.streaming:
            streams.forget(message.id)
        html = self.message(message, key=key, streams=streams)
        settled = partial_of(f"interrupted-{key}", "innerHTML", "")
        if new:
            return partial_of(f"tail-{key}", "beforeend", html) + settled
        return partial_of(f"m-{key}-{looks.dom_token(message.id)}", "outerMorph", html)

    def _part_frame(
        self, frame: wire.PartFrame, key: str, new: bool, streams: Streams | None
    ) -> str:
        token = looks.dom_token(frame.message_id)
        parts: list[wire.MessagePart] = [wire.TextPart(content="")] * frame.index
        message = wire.Message(
            id=frame.message_id, role="assistant", parts=[*parts, frame.part], streaming=True
        )
        look = looks.part_look(message, frame.index)
        html = self._macros.part(look, key, token, message, self._stream(key, streams))
        if new:
            return partial_of(f"mp-{key}-{token}", "beforeend", html)
        return partial_of(f"p-{key}-{token}-{frame.index}", "outerMorph", html)

    def _delta(self, frame: wire.PartDeltaFrame, key: str, streams: Streams) -> str:
        ids = f"{key}-{looks.dom_token(frame.message_id)}-{frame.index}"
        stream = streams.text(frame.message_id, frame.index, ids)
        stream.append(frame.delta)
        update = stream.update()
        return "".join(partial_of(*piece) for piece in update.pieces)

    def _stream(self, key: str, streams: Streams | None) -> Callable[..., Markup]:
        return partial(_streaming_html, key, Streams() if streams is None else streams)

    def _render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(**values)


def partial_of(target: str, swap: str, html: str) -> str:
    """One piece of a frame: ``html`` for the element with the id ``target``."""
    return f'<hx-partial hx-target="#{target}" hx-swap="{swap}">{html}</hx-partial>'


def _streaming_html(key: str, streams: Streams, message_id: str, index: int, content: str) -> Markup:
    ids = f"{key}-{looks.dom_token(message_id)}-{index}"
    return Markup(streams.set(message_id, index, ids, content).html())
