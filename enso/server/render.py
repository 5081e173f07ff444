"""Views and messages to HTML.

Everything is escaped by the templates; the one HTML that is trusted comes from ``markdown``. Knows
no route: links come in the views, static files through ``static_url``. Frames are drawn with the
same templates (``enso.server.frames``), so that what streams in looks like what was rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from enso import images, wire
from enso.server import dialogs, looks, pictures, resources, words
from enso.server.documents import Documents
from enso.server.frames import FrameDrawer, Streams
from enso.server.macros import Macros
from enso.server.template_cache import TemplateCache
from enso.server.views import (
    NOWHERE,
    BundleView,
    CommandsView,
    ErrorView,
    ExportView,
    FilesView,
    FoundView,
    HistoryView,
    PageView,
    PaneView,
    PictureView,
    RailView,
    StatsView,
    TreeView,
    WaitingView,
)
from enso.urls import image_below

__all__ = ["Renderer", "Streams", "plain_static_url"]


def plain_static_url(name: str) -> str:
    """The URL of a static file when nothing gives it a version."""
    return f"/static/{name}"


def _environment(
    templates: Path,
    static_url: Callable[[str], str],
    told_time: Callable[[str], str],
    cache: Path | None,
) -> Environment:
    environment: Any = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        bytecode_cache=TemplateCache(cache) if cache else None,
    )
    environment.globals.update(
        static_url=static_url,
        words=words,
        looks=looks,
        dialogs=dialogs,
        images=images,
        pictures=pictures,
    )
    environment.globals["told_time"] = told_time
    environment.globals["image_below"] = image_below
    environment.filters["markdown"] = _markdown
    environment.filters["linked"] = _linked
    return environment


def _markdown(text: str) -> Markup:
    """Markdown as HTML; its parser is loaded by the first text."""
    from enso.server.markdown import render_markdown  # noqa: PLC0415

    return render_markdown(text)


def _linked(text: str, *, goes_on: bool = False) -> Markup:
    """Text as it was written, its addresses as links; what finds them is loaded by the first."""
    if "://" not in text:
        return escape(text)
    from enso.server.bare_links import linked  # noqa: PLC0415

    return linked(text, goes_on=goes_on)


class Renderer:
    """Renders every template and every frame. Safe to use from many workers."""

    def __init__(
        self,
        *,
        static_url: Callable[[str], str] = plain_static_url,
        templates: Path | None = None,
        cache: Path | None = None,
    ) -> None:
        """``cache`` is a directory for compiled templates; without one each start compiles them."""
        directory = templates or resources.template_dir()
        self._environment = _environment(directory, static_url, words.clock, cache)
        self._documents = Documents(
            partial(_environment, directory, static_url, words.moment, cache)
        )
        self._macros = Macros(self._environment)
        self._frames = FrameDrawer(self._macros)

    def page(self, view: PageView) -> str:
        """The whole page: rail and pane."""
        return self._render("page.html", view=view, rail=view.rail, **self._in_pane(view.pane))

    def pane(self, view: PaneView) -> str:
        """What stands inside ``#pane``, a ``<title>`` before it."""
        return self._render("_pane.html", with_title=True, **self._in_pane(view))

    def _in_pane(self, view: PaneView) -> dict[str, Any]:
        return {
            "pane": view,
            "messages": self.messages(view.messages, key=view.key, hrefs=view.hrefs),
            "cards": self._cards(view),
        }

    def _cards(self, view: PaneView) -> Markup:
        """The dialogs of a pane."""
        if not view.dialogs:
            return Markup()
        href = view.hrefs.get("dialogs", "")
        asked = [dialogs.dialog_look(dialog, href) for dialog in view.dialogs]
        html = self._macros.dialogs.dialogs(asked, view.key)
        return Markup(html)  # noqa: S704 - what the templates made

    def rail(self, view: RailView) -> str:
        """What stands inside ``#rail``."""
        return self._render("_rail.html", rail=view)

    def rail_rows(self, view: RailView) -> str:
        """What stands inside ``#rail-list``: groups, rows, the way to more; or an addition."""
        template = "_rail_further.html" if view.further else "_rail_rows.html"
        return self._render(template, rail=view)

    def history(self, view: HistoryView) -> str:
        """What replaces ``#earlier-<key>``: a page of earlier messages, behind the way to more."""
        messages = self.messages(view.messages, key=view.key, hrefs=view.hrefs)
        return self._render("_history.html", history=view, messages=messages)

    def waiting(self, view: WaitingView, *, page: bool) -> str:
        """The dialogs that wait, in all threads: a whole page, or what stands inside ``#pane``."""
        items = [(one, dialogs.dialog_look(one.dialog, one.dialogs_href)) for one in view.items]
        template = "waiting.html" if page else "_waiting.html"
        return self._render(template, view=view, rail=view.rail, items=items, with_title=not page)

    def behind(self, template: str, view: Any, *, page: bool) -> str:
        """A page behind a thread, or what stands inside of its pane's drawer."""
        if page:
            return self._render("behind.html", view=view, inside=template, rail=view.behind.rail)
        return self._render(template, view=view)

    def picture(self, view: PictureView, *, page: bool) -> str:
        """An image: a page of its own, or what takes its place in a message."""
        template = "picture.html" if page else "_picture.html"
        return self._render(template, view=view, rail=view.rail)

    def tree(self, view: TreeView, *, page: bool) -> str:
        """A thread's tree: a whole page, or what stands inside ``#pane``."""
        template = "tree.html" if page else "_tree.html"
        return self._render(template, view=view, rail=view.rail, with_title=not page)

    def tree_list(self, view: TreeView) -> str:
        """``#tree-list`` alone, as it is now."""
        return self._render("_tree_list.html", view=view)

    def stats(self, view: StatsView, *, page: bool) -> str:
        """What a thread used: a whole page, or what stands inside ``#pane``."""
        template = "stats.html" if page else "_stats.html"
        return self._render(template, view=view, rail=view.rail, with_title=not page)

    def found(self, view: FoundView, rail: RailView | None) -> str:
        """Passages that were found: with a rail a whole page, else what stands in the rail."""
        if rail is not None:
            return self._render("find.html", view=view, rail=rail)
        return self._render("_found.html", view=view)

    def commands(self, view: CommandsView) -> str:
        """The options of the list of slash commands; empty when none fits."""
        return self._render("_commands.html", view=view)

    def files(self, view: FilesView) -> str:
        """The options of the list of files; empty when none fits."""
        return self._render("_files.html", view=view)

    def bundle(self, view: BundleView) -> str:
        """The page that says what a bug report would hold."""
        return self._render("bundle.html", view=view, rail=view.rail)

    def export(self, view: ExportView) -> Iterator[str]:
        """A thread as one HTML file that needs nothing else, in pieces of some 64 KB."""
        return self._documents.html(view)

    def error(self, view: ErrorView, *, page: bool) -> str:
        """An error: a whole page that holds ``#pane``, or a line for the place that asked."""
        return self._render("error.html" if page else "_error.html", view=view, rail=view.rail)

    def messages(
        self, messages: Sequence[wire.Message], *, key: str, hrefs: Mapping[str, str] = NOWHERE
    ) -> Markup:
        """Messages under one another, runs and refused attempts folded; what ``hrefs`` offers."""
        if not messages:
            return Markup()
        stream = partial(Streams().html, key)
        html = self._macros.messages.messages(looks.looks(messages), key, stream, hrefs)
        return Markup(html)  # noqa: S704 - what the templates made

    def told(self, sentence: str) -> str:
        """What stands beside the composer to say ``sentence``."""
        return str(self._macros.said.told(sentence, ()))

    def frame(
        self,
        frame: wire.Frame,
        *,
        key: str,
        new: bool = True,
        streams: Streams | None = None,
        rail_href: str = "/rail",
        base: str = "",
    ) -> str:
        """A frame as ``<hx-partial>`` pieces; empty when it says nothing on a page.

        ``key`` is the thread's part of DOM ids. ``new``: the message or part of this frame is not
        on the page yet. ``streams`` holds what streams on this thread: without it a delta is drawn
        as if its part began with it. ``rail_href`` is where the rail is asked for anew. ``base`` is
        the thread's URL (``/threads/<id>``): the forms in a frame are posted below it.
        """
        return self._frames.draw(
            frame,
            key=key,
            new=new,
            streams=streams or Streams(),
            rail_href=rail_href,
            base=base,
        )

    def _render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(**values)
