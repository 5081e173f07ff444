"""A thread's tree as a page, and what the forms on it and beside it are answered with.

Looking builds nothing. Whoever goes to a prompt gets the thread's page with its words in the
composer: a page for a plain form, the inside of ``#pane`` for one that says ``to=pane``.
"""

from __future__ import annotations

from flask import Blueprint, Response, request
from msgspec.structs import replace

from enso import wire
from enso.server.htmx import HtmxRequest
from enso.server.looks import dom_token
from enso.server.pages import html_answer, page_urls, rail_request, whole_page
from enso.server.presenter import HTMX_CONFIG, one_line
from enso.server.prompts import checked_id
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.tree import FILTERS, PAGE_ENTRIES, window
from enso.server.views import TreeChoice, TreeView
from enso.thread_ids import new_thread_id
from enso.urls import Urls

MAX_START = 10_000_000
FILTER = "default"


def wanted_filter(text: str) -> wire.TreeFilter:
    """The filter that a request names; raises ``Refused`` 400 for one that there is not."""
    for known in FILTERS:
        if text == known:
            return known
    names = ", ".join(FILTERS)
    raise Refused(400, "unknown-filter", f"There is no filter of this name. Say one of: {names}.")


def wanted_start(text: str) -> int | None:
    """The first entry that a request asks for; raises ``Refused`` 400 for what is no number."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 8 or int(text) > MAX_START:
        raise Refused(400, "invalid-start", "Say which entry comes first as a number from 0 on.")
    return int(text)


def read_window(services: Services, thread_id: str) -> wire.ThreadTree:
    """The part of a thread's tree that the request's query asks for."""
    wanted = wanted_filter(request.args.get("filter", FILTER))
    start = wanted_start(request.args.get("start", ""))
    return window(thread_id, services.tree(thread_id), wanted, start)


def _title(services: Services, thread_id: str) -> str:
    row = services.host.stored_thread(thread_id)
    if row is not None:
        return one_line(row.name or row.first_message)
    return one_line(services.read(thread_id).title)


def tree_view(services: Services, urls: Urls, tree: wire.ThreadTree, *, rail: bool) -> TreeView:
    """What the templates are given for a window of a thread's tree."""

    def at(start: int) -> str:
        return urls.tree(tree.thread_id, wanted=tree.filter, start=start)

    end = tree.start + len(tree.entries)
    later = tree.total - end
    return TreeView(
        key=dom_token(tree.thread_id),
        title=_title(services, tree.thread_id),
        tree=tree,
        choices=[
            TreeChoice(label=label, href=urls.tree(tree.thread_id, wanted=name), chosen=chosen)
            for name, label in FILTERS.items()
            for chosen in [name == tree.filter]
        ],
        thread_href=urls.thread(tree.thread_id),
        go_href=urls.tree(tree.thread_id),
        # The place that a request named stays; else what is shown goes along with the thread.
        again_href=urls.tree(
            tree.thread_id,
            wanted=tree.filter,
            start=tree.start if request.values.get("start") else None,
        ),
        label_href=urls.below(tree.thread_id, "label"),
        earlier_href=at(max(0, tree.start - PAGE_ENTRIES)) if tree.start else None,
        later_href=at(end) if later > 0 else None,
        later_count=max(later, 0),
        rail=services.presenter.rail(urls, rail_request(tree.thread_id)) if rail else None,
        follow_href=urls.follow(new_thread_id()),
        htmx_config=HTMX_CONFIG,
    )


def blueprint(services: Services) -> Blueprint:
    """The routes of this module over one server's parts."""
    trees = Blueprint("trees", __name__)

    @trees.get("/threads/<thread_id>/tree")
    def tree(thread_id: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Every branch of a thread, as a page or into the pane."""
        found = read_window(services, checked_id(thread_id))
        whole = not HtmxRequest(request.headers).wants_fragment
        view = tree_view(services, page_urls(), found, rail=whole)
        return html_answer(services.renderer.tree(view, page=whole))

    return trees


# -- what forms are answered with -----------------------------------------------------------------


def drafted(
    services: Services,
    thread_id: str,
    draft: wire.Draft,
    *,
    pane: bool = False,
    taken_back: str = "",
    is_stopped: bool = False,
) -> Response:
    """The thread's page with a draft in its composer; ``pane``: what stands inside ``#pane``.

    ``taken_back`` is a queued prompt that is in the draft now; ``is_stopped``: every one is;
    the run's news of it may be late.
    """
    urls = page_urls()
    reading = services.read(thread_id)
    waiting = tuple(one for one in reading.queue if not is_stopped and one.id != taken_back)
    view = services.presenter.pane(
        urls,
        replace(reading, queue=waiting),
        draft=draft.message,
        notice=_images_left(len(draft.images)),
    )
    if not pane:
        return whole_page(services, urls, view)
    answer = html_answer(services.renderer.pane(view))
    answer.headers["HX-Push-Url"] = urls.thread(thread_id)
    return answer


def _images_left(count: int) -> str:
    if not count:
        return ""
    what = "Its image is" if count == 1 else f"Its {count} images are"
    return f"{what} not in the composer: add {'it' if count == 1 else 'them'} again."


def gone_to(services: Services, thread_id: str, done: wire.Done) -> Response | None:
    """The answer to a form that went to another entry; ``None``: as to any other form."""
    is_htmx = HtmxRequest(request.headers).is_htmx
    pane = is_htmx and request.form.get("to") == "pane"
    if pane or (done.draft is not None and not is_htmx):
        return drafted(services, thread_id, done.draft or wire.Draft(message=""), pane=pane)
    return None


def stopped(services: Services, thread_id: str, done: wire.Done) -> Response | None:
    """The answer to a form that stopped a run in which something was queued: it is a draft now."""
    if done.draft is None or HtmxRequest(request.headers).is_htmx:
        return None
    return drafted(services, thread_id, done.draft, is_stopped=True)


def labelled(services: Services, thread_id: str, _done: wire.Done) -> Response | None:
    """The answer to a form of the tree that labelled an entry: the tree as it is now."""
    if request.form.get("to") != "tree":
        return None
    wanted = wanted_filter(request.form.get("filter", FILTER))
    start = wanted_start(request.form.get("start", ""))
    if not HtmxRequest(request.headers).is_htmx:
        target = page_urls().tree(thread_id, wanted=wanted, start=start)
        return Response(status=303, headers={"Location": target})
    found = window(thread_id, services.tree(thread_id), wanted, start)
    view = tree_view(services, page_urls(), found, rail=False)
    return html_answer(services.renderer.tree_list(view))
