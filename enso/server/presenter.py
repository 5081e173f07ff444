"""Readings to views: what the templates are given, without a word of HTML.

Knows the URLs, the words of the rail's signs and how many messages a page holds. Reads through the
reader and the rail; decides nothing about threads.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from enso import wire
from enso.host import contract
from enso.projects import Projects
from enso.server.ages import age_words
from enso.server.formats import FORMATS
from enso.server.looks import dom_token
from enso.server.models import model_choices
from enso.server.rail import Rail
from enso.server.rail_cursor import RailCursor, cursor_at, first_behind
from enso.server.reading import ThreadReading
from enso.server.registry import ThreadRegistry
from enso.server.shapes import mended
from enso.server.views import (
    Composer,
    Deleted,
    ErrorView,
    HistoryView,
    PageView,
    PaneView,
    RailAsk,
    RailFilling,
    RailGroup,
    RailRow,
    RailView,
    WaitingItem,
    WaitingView,
)
from enso.thread_ids import new_thread_id
from enso.urls import Urls

RAIL_ROWS = 50
MORE_ROWS = 100
MAX_TITLE = 240

# Measured facts of htmx 4.0.1: a morph must not close what a reader opened, and a lost socket is
# to be back within seconds. The indicator's style sheet would break the content policy.
HTMX_CONFIG = json.dumps(
    {
        "morphIgnore": ["data-htmx-powered", "open"],
        "includeIndicatorCSS": False,
        "ws": {"reconnectMaxDelay": 5000},
    }
)

NO_PROJECT = (
    "None of this server's projects is a directory now, so a new thread has nowhere to run. "
    "Start Enso in a directory, or name one with --project."
)
SIGN_WORDS = {
    "cold": ("stored", "Stored; not running"),
    "held": ("live", "Live: ready for the next prompt"),
    "busy": ("working", "Working"),
    "needs": ("needs you", "Needs you: a question waits for your answer"),
    "refused": ("refused", "Refused: the last request was turned down by its provider"),
    "cut": ("interrupted", "Interrupted: the last run ended before it was done"),
}
"""What each sign of the rail is called, and what it means."""


def one_line(text: str, limit: int = MAX_TITLE) -> str:
    """Text on one line, cut: what a title is allowed to take."""
    line = " ".join(mended(text[: limit * 8]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class RailRequest:
    """What part of the rail is asked for.

    ``in_a_hurry``: a thread waits to be shown beside it, and its file is not looked at for its row.
    ``after``: the rows behind that place, of a rail that has ``shown`` rows by then and was
    ``drawn`` at that version; with ``further`` for a browser that has those before them.
    """

    query: str = ""
    shown: int = RAIL_ROWS
    after: RailCursor | None = None
    drawn: str = ""
    further: bool = False
    current: str = ""
    in_a_hurry: bool = False


class Presenter:
    """Builds the views of one server. Usable from any worker."""

    def __init__(
        self,
        *,
        host: contract.AgentHost,
        registry: ThreadRegistry,
        rail: Rail,
        projects: Projects,
    ) -> None:
        self._host = host
        self._registry = registry
        self._rail = rail
        self._projects = projects

    # -- the rail -------------------------------------------------------------------------------

    def rail(self, urls: Urls, wanted: RailRequest) -> RailView:
        """The newest threads that fit the query, under their projects."""
        now = self._rail.version  # before the listing: what comes between is asked for again
        # Further rows leave the others as they are, and these may have missed what was told.
        version = wanted.drawn if wanted.further else now
        listed = self._rail.listed(wanted.query)
        threads = listed.threads
        start = first_behind(threads, wanted.after) if wanted.after else 0
        end = start + (MORE_ROWS if wanted.after else wanted.shown)
        rows = threads[start:end]
        count = wanted.shown + (MORE_ROWS if wanted.after else 0)
        shown = list(rows) if wanted.further else self._with_current(listed, wanted, start, end)
        behind = len(rows) and end < len(threads)
        more = behind and urls.further_rail(
            query=wanted.query,
            shown=count,
            after=str(cursor_at(rows[-1])),
            drawn=version,
            current=wanted.current,
        )
        return RailView(
            groups=self._groups(urls, shown, wanted.current, added=len(shown) > len(rows)),
            total=len(threads),
            shown=count,
            query=wanted.query,
            current_thread_id=wanted.current,
            more_href=more or None,
            newest_href=urls.rail(query=wanted.query, current=wanted.current)
            if wanted.after
            else None,
            further=wanted.further,
            missed_news=version != now,
            refresh_href=urls.rail(),
            new_thread_href=urls.fresh(),
            waiting=self._registry.waiting_count(),
            waiting_href=urls.waiting(),
            asks=self._asks(urls),
            serves_nothing_yet=not threads and not wanted.query,
            filling=self._filling(urls, listed, wanted),
            version=version,
            find_href=urls.find(wanted.query) if wanted.query.strip() else None,
        )

    def _with_current(
        self, listed: contract.Listed, wanted: RailRequest, start: int, end: int
    ) -> list[contract.StoredThread]:
        """A page of threads, and behind them the open one when it fits and is not among them."""
        threads = listed.threads
        shown = list(threads[start:end])
        if not wanted.current or any(thread.id == wanted.current for thread in shown):
            return shown
        if wanted.query:
            others = (one for one in threads if one.id == wanted.current)
            return [*shown, *others]
        if listed.waiting and wanted.in_a_hurry:
            return shown
        current = self._host.stored_thread(wanted.current)
        return [*shown, current] if current is not None else shown

    def _filling(
        self, urls: Urls, listed: contract.Listed, wanted: RailRequest
    ) -> RailFilling | None:
        if not listed.waiting:
            return None
        return RailFilling(
            looked_at=listed.looked_at,
            files=listed.looked_at + listed.waiting,
            href=urls.rail(query=wanted.query, shown=wanted.shown, current=wanted.current),
        )

    def _asks(self, urls: Urls) -> list[RailAsk]:
        asks: list[RailAsk] = []
        for thread_id in self._registry.live_ids():
            dialogs = self._registry.open_dialogs(thread_id)
            stored = self._host.stored_thread(thread_id) if dialogs else None
            asks += [
                RailAsk(
                    dom_id=f"d-{dom_token(thread_id)}-{dom_token(dialog.id)}",
                    href=urls.thread(thread_id),
                    thread=one_line(stored.name or stored.first_message) if stored else "",
                    title=one_line(dialog.title),
                )
                for dialog in dialogs
            ]
        return asks

    def _groups(
        self, urls: Urls, threads: Iterable[contract.StoredThread], current: str, *, added: bool
    ) -> list[RailGroup]:
        """Threads under their projects; ``added``: the open one is no part of their page."""
        grouped: dict[str, list[contract.StoredThread]] = {}
        for thread in threads:
            grouped.setdefault(str(thread.cwd), []).append(thread)
        now = datetime.now(UTC).astimezone()
        return [
            RailGroup(
                project_id=directory,
                name=mended(self._rail.project_name(members[0])),
                detail=mended(directory),
                key=dom_token(directory),
                rows=[self._row(urls, thread, current, now, added=added) for thread in members],
            )
            for directory, members in grouped.items()
        ]

    def _row(
        self,
        urls: Urls,
        thread: contract.StoredThread,
        current: str,
        now: datetime,
        *,
        added: bool,
    ) -> RailRow:
        title = one_line(thread.name or thread.first_message)
        sign = self._sign(thread)
        return RailRow(
            thread_id=thread.id,
            key=dom_token(thread.id),
            href=urls.thread(thread.id),
            title=title,
            untitled=not title,
            message_count=thread.message_count,
            last_activity_at=thread.modified.isoformat(timespec="seconds"),
            age=age_words(thread.modified, now=now),
            sign=sign,
            sign_word=SIGN_WORDS[sign][0],
            sign_title=SIGN_WORDS[sign][1],
            current=thread.id == current,
            behind=added and thread.id == current,
        )

    def _sign(self, thread: contract.StoredThread) -> str:
        if self._registry.needs_person(thread.id):
            return "needs"
        if self._registry.is_busy(thread.id):
            return "busy"
        if thread.end == "refused":
            return "refused"
        if thread.end == "interrupted":
            return "cut"
        return "held" if self._registry.is_live(thread.id) else "cold"

    # -- the pane -------------------------------------------------------------------------------

    def pane(
        self,
        urls: Urls,
        reading: ThreadReading,
        *,
        notice: str = "",
        draft: str = "",
        error: str = "",
        project_id: str = "",
        deleted: Deleted | None = None,
        at: str = "",
    ) -> PaneView:
        """The open thread with the page of it that was read."""
        page = reading.window
        earlier = urls.history(reading.thread_id, before=page.first) if page.before != 0 else None
        return PaneView(
            thread_id=reading.thread_id,
            key=dom_token(reading.thread_id),
            title=one_line(reading.title),
            fresh=not reading.stored,
            project_name=reading.project.name if reading.project else "",
            project_detail=mended(reading.project_id),
            message_count=reading.message_count,
            messages=page.messages,
            earlier_href=earlier,
            earlier_count=page.before,
            history_href=urls.history(reading.thread_id, before=""),
            status=reading.status,
            usage=reading.usage,
            context=reading.context,
            interrupted=reading.interrupted,
            at=dom_token(at) if at else "",
            follow_href=urls.follow(reading.thread_id, first=page.first),
            notice=notice or _damage(reading.skipped_lines),
            composer=self._composer(urls, reading, draft, error, project_id),
            abort_href=urls.abort(reading.thread_id),
            hrefs=hrefs_of(urls, reading.thread_id),
            dialogs=reading.dialogs,
            queue=reading.queue,
            modes=reading.permission_mode.modes,
            mode=reading.permission_mode.mode,
            models=model_choices(self._host),
            model=(reading.model.provider, reading.model.model) if reading.model else ("", ""),
            level=(reading.model.level or "") if reading.model else "",
            deleted=deleted,
            new_thread_href=urls.fresh(),
        )

    def _composer(
        self, urls: Urls, reading: ThreadReading, draft: str, error: str, project_id: str
    ) -> Composer:
        mode = reading.permission_mode
        labels = {choice.id: choice.label for choice in mode.modes}
        # An empty fork runs where its thread did: there is nothing to choose.
        to_choose = (reading.project,) if reading.project is not None else self._projects.all
        there = [one for one in to_choose if self._projects.can_run_in(one.directory)]
        projects = [] if reading.stored else [(one.id, one.name) for one in there]
        blocked = "" if reading.model else reading.what_to_do
        if not reading.stored and not projects:
            blocked = NO_PROJECT
        return Composer(
            action=urls.prompt(reading.thread_id),
            prepare_href=urls.prepare(),
            prompt_id=str(uuid.uuid4()),
            blocked=blocked,
            model_label=reading.model.label if reading.model else "",
            mode_label=labels.get(mode.mode, mode.mode),
            project_id=project_id or (projects[0][0] if projects else ""),
            projects=projects,
            draft=draft,
            error=error,
        )

    def page(self, rail: RailView, pane: PaneView) -> PageView:
        """Both, as one page."""
        return PageView(rail=rail, pane=pane, htmx_config=HTMX_CONFIG)

    def waiting(
        self, urls: Urls, dialogs: Iterable[wire.WaitingDialog], rail: RailView
    ) -> WaitingView:
        """Every dialog that waits, with the threads that they hold up."""
        return WaitingView(
            items=[self._waiting_item(urls, waiting) for waiting in dialogs],
            href=urls.waiting(),
            rail=rail,
            follow_href=urls.follow(new_thread_id()),
            htmx_config=HTMX_CONFIG,
        )

    def _waiting_item(self, urls: Urls, waiting: wire.WaitingDialog) -> WaitingItem:
        stored = self._host.stored_thread(waiting.thread_id)
        return WaitingItem(
            key=dom_token(waiting.thread_id),
            title=one_line(stored.name or stored.first_message) if stored else "",
            href=urls.thread(waiting.thread_id),
            project_name=self._rail.project_name(stored) if stored else "",
            dialog=waiting.dialog,
            dialogs_href=urls.below(waiting.thread_id, "dialogs"),
        )

    def history(self, urls: Urls, reading: ThreadReading, *, before: str) -> HistoryView:
        """The page of earlier messages that ends before the message ``before``."""
        window = reading.window
        earlier = (
            urls.history(reading.thread_id, before=window.first) if window.before != 0 else None
        )
        return HistoryView(
            key=dom_token(reading.thread_id),
            messages=window.messages,
            earlier_href=earlier,
            earlier_count=window.before,
            href=urls.history(reading.thread_id, before=before),
            hrefs=hrefs_of(urls, reading.thread_id),
        )

    @staticmethod
    def error(status: int, sentence: str, rail: RailView | None, *, wanted: str = "/") -> ErrorView:
        """An error as a pane, or as a line when there is no rail around it."""
        headings = {
            401: "This server asks for a token",
            403: "Not served here",
            404: "Not found",
            500: "Something went wrong",
        }
        return ErrorView(
            status=status,
            heading=headings.get(status, "That did not work"),
            sentence=sentence,
            rail=rail,
            wanted=wanted,
        )


PLACES = (
    "mode", "model", "queue", "dialogs", "retry", "commands", "files",
    "name", "fork", "delete", "compact", "tree", "label", "bundle",
    "context", "entries", "stats", "images",
)  # fmt: skip


def hrefs_of(urls: Urls, thread_id: str) -> dict[str, str]:
    """Where things are done to a thread. The page hides what needs a branch while there is none."""
    return {
        **{place: urls.below(thread_id, place) for place in PLACES},
        **{f"export-{name}": urls.export(thread_id, name) for name in FORMATS},
    }


def _damage(skipped_lines: int) -> str:
    if not skipped_lines:
        return ""
    if skipped_lines == 1:
        return "1 line of this thread's file could not be read and is left out."
    return f"{skipped_lines} lines of this thread's file could not be read and are left out."
