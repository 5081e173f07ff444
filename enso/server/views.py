"""What each template is given: one frozen value a template, so that a page documents its own input.

Wire shapes (``enso.wire``) stand in them wherever the JSON interface says the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct, field

from enso import wire
from enso.server.looks import dom_token

NOWHERE: Mapping[str, str] = {}
"""No links: what cannot be done is not offered."""


class RailRow(Struct, frozen=True, kw_only=True):
    """One thread in the rail. ``sign`` names the ensō drawn, ``sign_word`` says it in words.

    ``sign_title`` is the tooltip of the sign: what it means, in a sentence.
    """

    thread_id: str
    key: str  # the thread's part of DOM ids: letters, digits and dashes only
    href: str
    title: str  # one line, cut; empty for an untitled thread
    untitled: bool
    message_count: int
    last_activity_at: str  # ISO 8601, UTC
    age: str  # "now", "4 min", "yesterday", "28 Nov"
    sign: str  # cold | held | busy | needs | refused | cut
    sign_word: str
    sign_title: str
    current: bool
    behind: bool = False  # the open one, which is older than the rows of the page before it


class RailGroup(Struct, frozen=True, kw_only=True):
    """The rows of one project, under its name."""

    project_id: str
    name: str
    detail: str  # the directory, for a tooltip
    key: str  # part of DOM ids
    rows: Sequence[RailRow]


class RailAsk(Struct, frozen=True, kw_only=True):
    """A dialog that waits in some thread: who is away is told of each once, by its DOM id."""

    dom_id: str
    href: str
    thread: str  # the thread's title, one line
    title: str  # what is asked, one line


class RailFilling(Struct, frozen=True, kw_only=True):
    """How far the first look at all stored threads is, and where the rail is asked for again."""

    looked_at: int
    files: int
    href: str


class RailView(Struct, frozen=True, kw_only=True):
    """The rail, or further rows of it: groups of rows, and what is needed to page, filter and
    refresh it.

    ``more_href`` asks for the rows behind these; ``None`` when there are none. ``shown`` is how
    many rows the rail has with these. ``query`` is the filter's text.
    """

    groups: Sequence[RailGroup]
    total: int
    shown: int
    query: str
    current_thread_id: str
    more_href: str | None
    refresh_href: str
    new_thread_href: str
    waiting: int  # threads that need a person
    serves_nothing_yet: bool  # no stored thread at all: the empty state
    waiting_href: str = ""  # the page of all dialogs that wait
    asks: Sequence[RailAsk] = ()
    version: str = ""  # which news it was drawn after: its follow asks for what came since
    filling: RailFilling | None = None  # while not every stored thread was looked at
    newest_href: str | None = None  # back to the rail's top, on a page of further rows
    further: bool = False  # these rows are put behind those that a browser has
    missed_news: bool = False  # the rows that it has are not what they were
    find_href: str | None = None  # what of the query is said in threads; ``None`` without a query


class Composer(Struct, frozen=True, kw_only=True):
    """The form that takes a prompt. ``blocked`` is what to do first, when no prompt can be sent."""

    action: str
    prepare_href: str  # told once somebody types
    prompt_id: str
    blocked: str
    model_label: str
    mode_label: str
    project_id: str
    projects: Sequence[tuple[str, str]]  # (id, name): a choice for a thread that is not stored yet
    draft: str  # what was typed before a plain form was refused
    error: str  # why a plain form was refused


class Deleted(Struct, frozen=True, kw_only=True):
    """A thread that was just deleted: what it was called, and where it is taken back."""

    title: str
    restore_href: str


class PaneView(Struct, frozen=True, kw_only=True):
    """The open thread. ``messages`` is the last page; ``earlier_href`` asks for the one before.

    ``history_href`` asks for the one before any message, whose id is added to it.
    ``notice`` is said above everything (a malformed id, lines that were skipped). ``abort_href`` is
    where the run in flight is stopped. ``hrefs`` says what else can be done and where: ``queue``,
    ``mode``, ``model``, ``name``, ``fork``, ``delete``, ``compact``, ``tree``, ``label``,
    ``commands``, ``files``, ``dialogs``, ``retry``; what has no link is not offered. ``model`` is
    (provider, model). ``deleted`` is said on a fresh page with the way back.
    """

    thread_id: str
    key: str
    title: str
    fresh: bool  # nothing is stored under this id yet
    project_name: str
    project_detail: str
    message_count: int
    messages: Sequence[wire.Message]
    earlier_href: str | None
    earlier_count: int | None
    history_href: str
    status: wire.Status
    usage: wire.Usage
    context: wire.Context | None
    interrupted: wire.InterruptedTail | None
    follow_href: str
    notice: str
    composer: Composer
    abort_href: str = ""
    hrefs: Mapping[str, str] = field(default_factory=lambda: NOWHERE)
    at: str = ""  # the message that it is opened at, as part of its element's id
    dialogs: Sequence[wire.Dialog] = ()
    queue: Sequence[wire.QueuedPrompt] = ()
    modes: Sequence[wire.PermissionModeChoice] = ()
    mode: str = ""
    models: Sequence[wire.ModelChoice] = ()
    model: tuple[str, str] = ("", "")
    level: str = ""
    deleted: Deleted | None = None
    new_thread_href: str = ""


class HistoryView(Struct, frozen=True, kw_only=True):
    """A page of earlier messages, and where the one before it is.

    ``href`` asks for this page again: of one that has none nothing is taken out of a long pane.
    """

    key: str
    messages: Sequence[wire.Message]
    earlier_href: str | None
    earlier_count: int | None
    href: str = ""
    hrefs: Mapping[str, str] = field(default_factory=lambda: NOWHERE)

    @property
    def token(self) -> str:
        """The page's part of a DOM id: that of its first message."""
        return dom_token(self.messages[0].id) if self.messages else ""


class PageView(Struct, frozen=True, kw_only=True):
    """The whole page: rail and pane."""

    rail: RailView
    pane: PaneView
    htmx_config: str  # JSON, for the meta element


class ErrorView(Struct, frozen=True, kw_only=True):
    """An error said as a pane: what was wrong, and what to do."""

    status: int
    heading: str
    sentence: str
    rail: RailView | None
    wanted: str = "/"  # where it goes on, once the token was given


class WaitingItem(Struct, frozen=True, kw_only=True):
    """A dialog that waits, and the thread that it holds up; answered under ``dialogs_href``."""

    key: str  # the thread's part of DOM ids
    title: str
    href: str
    project_name: str
    dialog: wire.Dialog
    dialogs_href: str


class WaitingView(Struct, frozen=True, kw_only=True):
    """Every dialog that waits, in all threads, oldest first.

    ``href`` is the page itself, to be read anew. ``follow_href`` is any follow that brings the
    rail's news (a fresh thread's), so that the page changes when they do; empty: it asks by itself.
    """

    items: Sequence[WaitingItem]
    href: str
    rail: RailView | None = None
    follow_href: str = ""
    htmx_config: str = "{}"


class TreeChoice(Struct, frozen=True, kw_only=True):
    """A filter of a tree, and where the tree is that it shows."""

    label: str
    href: str
    chosen: bool


class TreeView(Struct, frozen=True, kw_only=True):
    """A window of a thread's tree. ``go_href`` and ``label_href`` are where its forms are posted.

    ``again_href`` is the window itself, to be read anew when the thread went on. ``follow_href`` is
    any follow that brings the rail's news.
    """

    key: str  # the thread's part of DOM ids
    title: str
    tree: wire.ThreadTree
    choices: Sequence[TreeChoice]
    thread_href: str
    go_href: str
    again_href: str
    label_href: str
    earlier_href: str | None
    later_href: str | None
    later_count: int
    rail: RailView | None = None
    follow_href: str = ""
    htmx_config: str = "{}"


class Row(Struct, frozen=True, kw_only=True):
    """One row: its cells in words. ``beside``: it is not on the branch that is shown."""

    cells: tuple[str, ...]
    beside: bool = False


class Table(Struct, frozen=True, kw_only=True):
    """A table: the first ``names`` columns hold words, the others numbers.

    ``left_out`` counts the rows, older than those, that are not shown.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    names: int = 1
    left_out: int = 0


class StatsView(Struct, frozen=True, kw_only=True):
    """What a thread used: facts and tables in words, charts as SVG.

    ``again_href`` is the page itself, to be read anew when the thread went on.
    ``more_href`` asks for longer tables; ``None`` when there is no more, or no more is shown.
    """

    key: str
    thread_id: str
    title: str
    thread_href: str
    json_href: str
    again_href: str
    more_href: str | None
    facts: Sequence[tuple[str, str]]
    cost_chart: Markup
    cost_says: str
    tool_chart: Markup
    turns: Table
    requests: Table
    tools: Table
    rail: RailView | None = None
    follow_href: str = ""
    htmx_config: str = "{}"


class PictureView(Struct, frozen=True, kw_only=True):
    """One image with its bytes, at its own address ``href``; ``title`` is its thread's."""

    image: wire.ImagePart
    href: str
    thread_id: str
    title: str
    thread_href: str
    rail: RailView | None = None
    htmx_config: str = "{}"


class FoundPassage(Struct, frozen=True, kw_only=True):
    """A passage with the way to it; ``said_by`` is a word, or empty."""

    href: str
    said_by: str
    created_at: str
    age: str
    before: str
    match: str
    after: str


class FoundGroup(Struct, frozen=True, kw_only=True):
    """The passages of one thread."""

    thread_id: str
    title: str
    href: str
    passages: Sequence[FoundPassage]


class FoundView(Struct, frozen=True, kw_only=True):
    """What was found in threads. ``again_href``: not all could be looked into yet; ask again."""

    query: str
    groups: Sequence[FoundGroup]
    searched: int
    threads: int
    again_href: str | None
    htmx_config: str = "{}"


class CommandsView(Struct, frozen=True, kw_only=True):
    """Slash commands that fit what was typed behind the slash."""

    key: str
    query: str
    commands: Sequence[wire.Command]


class FilesView(Struct, frozen=True, kw_only=True):
    """Files of the project that fit what was typed behind the ``@``; relative to its directory.

    ``more``: there are others that fit.
    """

    key: str
    query: str
    paths: Sequence[str]
    more: bool = False


class ExportView(Struct, frozen=True, kw_only=True):
    """A thread as a document. ``facts`` stand under its title: what they are, and what they say.

    ``notes`` are sentences about what is missing or was under way. ``messages`` may be read once.
    """

    thread_id: str
    key: str
    title: str
    facts: Sequence[tuple[str, str]]
    notes: Sequence[str]
    messages: Iterable[wire.Message]
    interrupted: wire.InterruptedTail | None
    generator: str


class BundleView(Struct, frozen=True, kw_only=True):
    """What a bug report of a thread would hold: its files, and the secrets that were found."""

    title: str
    thread_href: str
    action: str
    files: Sequence[tuple[str, str]]
    found: Sequence[str]
    any_found: bool
    rail: RailView
    htmx_config: str = "{}"
