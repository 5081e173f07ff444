"""Views and messages to HTML.

Everything is escaped by the templates; the one HTML that is trusted comes from ``markdown``. Knows
no route: links come in the views, static files through ``static_url``. Frames are drawn with the
same templates (``enso.server.frames``), so that what streams in looks like what was rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from enso import wire
from enso.server import looks, resources, words
from enso.server.frames import FrameDrawer, Streams
from enso.server.markdown import render_markdown
from enso.server.views import ErrorView, HistoryView, PageView, PaneView, RailView

__all__ = ["Renderer", "Streams", "plain_static_url"]


def plain_static_url(name: str) -> str:
    """The URL of a static file when nothing gives it a version."""
    return f"/static/{name}"


def _environment(templates: Path, static_url: Callable[[str], str]) -> Environment:
    environment: Any = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(static_url=static_url, words=words, looks=looks)
    environment.filters["markdown"] = render_markdown
    return environment


class Renderer:
    """Renders every template and every frame. Safe to use from many workers."""

    def __init__(
        self,
        *,
        static_url: Callable[[str], str] = plain_static_url,
        templates: Path | None = None,
    ) -> None:
        self._environment = _environment(templates or resources.template_dir(), static_url)
        macros: Any = self._environment.get_template("_messages.html").module
        self._macros = macros
        self._frames = FrameDrawer(macros)

    def page(self, view: PageView) -> str:
        """The whole page: rail and pane."""
        messages = self.messages(view.pane.messages, key=view.pane.key)
        return self._render(
            "page.html", view=view, rail=view.rail, pane=view.pane, messages=messages
        )

    def pane(self, view: PaneView) -> str:
        """What stands inside ``#pane``, a ``<title>`` before it."""
        messages = self.messages(view.messages, key=view.key)
        return self._render("_pane.html", pane=view, messages=messages, with_title=True)

    def rail(self, view: RailView) -> str:
        """What stands inside ``#rail``."""
        return self._render("_rail.html", rail=view)

    def rail_rows(self, view: RailView) -> str:
        """What stands inside ``#rail-list``: groups, rows, and the way to more."""
        return self._render("_rail_rows.html", rail=view)

    def history(self, view: HistoryView) -> str:
        """What replaces ``#earlier-<key>``: a page of earlier messages, behind the way to more."""
        messages = self.messages(view.messages, key=view.key)
        return self._render("_history.html", history=view, messages=messages)

    def error(self, view: ErrorView, *, page: bool) -> str:
        """An error: a whole page that holds ``#pane``, or a line for the place that asked."""
        return self._render("error.html" if page else "_error.html", view=view, rail=view.rail)

    def messages(self, messages: Sequence[wire.Message], *, key: str) -> Markup:
        """Messages under one another, runs and refused attempts folded."""
        stream = partial(Streams().html, key)
        return Markup(self._macros.messages(looks.looks(messages), key, stream))  # noqa: S704

    def frame(
        self,
        frame: wire.Frame,
        *,
        key: str,
        new: bool = True,
        streams: Streams | None = None,
        rail_href: str = "/rail",
    ) -> str:
        """A frame as ``<hx-partial>`` pieces; empty when it says nothing on a page.

        ``key`` is the thread's part of DOM ids. ``new``: the message or part of this frame is not
        on the page yet. ``streams`` holds what streams on this thread: without it a delta is drawn
        as if its part began with it. ``rail_href`` is where the rail is asked for anew.
        """
        return self._frames.draw(
            frame, key=key, new=new, streams=streams or Streams(), rail_href=rail_href
        )

    def _render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(**values)
