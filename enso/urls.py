"""Every URL that Enso builds or reads.

A page's URL names its thread and nothing else of Enso's; every other query parameter a person put
there is theirs, and every link of the page carries it on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

OUR_PARAMETERS = frozenset(
    {
        "at",
        "q",
        "shown",
        "after",
        "drawn",
        "current",
        "before",
        "from",
        "project",
        "deleted",
        "format",
        "keep",
        "filter",
        "start",
    }
)
"""Query parameters that routes of ours read; they are never carried from page to page."""


def kept_parameters(url: str) -> tuple[tuple[str, str], ...]:
    """The query parameters of a page's URL that are not Enso's, in their order."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=100)
    return tuple((name, value) for name, value in pairs if name not in OUR_PARAMETERS)


def thread_of(url: str) -> str:
    """The thread that a page's URL names; empty when it names none."""
    path = urlsplit(url).path.removesuffix("/stats")
    prefix = "/threads/"
    return unquote(path.removeprefix(prefix)) if path.startswith(prefix) else ""


def image_below(href: str, entry_id: str, number: int) -> str:
    """The URL of an image by that of its thread's images."""
    path, mark, query = href.partition("?")
    return f"{path}/{quote(entry_id, safe='')}/{number}{mark}{query}"


@dataclass(frozen=True, slots=True)
class Urls:
    """Builds the links of one page, with the query parameters that it keeps."""

    kept: tuple[tuple[str, str], ...] = ()

    def _with(self, path: str, ours: Iterable[tuple[str, str | int | None]] = ()) -> str:
        pairs = [*self.kept, *((name, str(value)) for name, value in ours if value is not None)]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def fresh(self, *, deleted: str = "") -> str:
        """A page without a thread; it may say which one was just deleted."""
        return self._with("/", [("deleted", deleted or None)])

    def thread(self, thread_id: str, *, at: str = "") -> str:
        """The page of a thread; ``at``: opened at the message of this entry."""
        return self._with(f"/threads/{quote(thread_id, safe='')}", [("at", at or None)])

    def find(self, query: str) -> str:
        """Passages of all threads that hold the words of a query."""
        return self._with("/find", [("q", query)])

    def rail(self, *, query: str = "", shown: int | None = None, current: str = "") -> str:
        """The rail, filtered and paged, with the row of ``current`` marked."""
        return self._with(
            "/rail", [("q", query or None), ("shown", shown), ("current", current or None)]
        )

    def further_rail(
        self, *, query: str, shown: int, after: str, drawn: str, current: str = ""
    ) -> str:
        """The rows behind the place ``after`` in a rail of ``shown`` rows, ``drawn`` when."""
        ours = [("shown", shown), ("after", after), ("drawn", drawn), ("current", current or None)]
        return self._with("/rail", [("q", query or None), *ours])

    def history(self, thread_id: str, *, before: str) -> str:
        """The page of messages before the message ``before``."""
        return self._with(f"/threads/{quote(thread_id, safe='')}/history", [("before", before)])

    def prompt(self, thread_id: str) -> str:
        """Where a prompt is posted."""
        return self._with(f"/threads/{quote(thread_id, safe='')}/prompt")

    def abort(self, thread_id: str) -> str:
        """Where the run in flight is stopped."""
        return self._with(f"/threads/{quote(thread_id, safe='')}/abort")

    def below(self, thread_id: str, name: str) -> str:
        """Where something is done to a thread, or asked of it; ``name`` is the path's last part."""
        return self._with(f"/threads/{quote(thread_id, safe='')}/{name}")

    def image(self, thread_id: str, entry_id: str, number: int) -> str:
        """The image that is an entry's part ``number``."""
        return image_below(self.below(thread_id, "images"), entry_id, number)

    def prepare(self) -> str:
        """Where a page says that somebody types a prompt."""
        return "/prepare"

    @staticmethod
    def export(thread_id: str, format_name: str) -> str:
        """A thread as a file to take away; a download keeps no parameter of a page."""
        return f"/threads/{quote(thread_id, safe='')}/export?format={quote(format_name)}"

    def behind(self, thread_id: str, name: str, *, start: int = 0) -> str:
        """A page behind a thread (its entries, its context), from its row ``start`` on."""
        return self._with(f"/threads/{quote(thread_id, safe='')}/{name}", [("from", start or None)])

    def entry(self, thread_id: str, entry_id: str) -> str:
        """One entry of a thread as it is stored."""
        return self.below(thread_id, f"entries/{quote(entry_id, safe='')}")

    def tree(self, thread_id: str, *, wanted: str = "", start: int | None = None) -> str:
        """A thread's tree, where one goes to another entry: filtered, and from an entry on."""
        path = f"/threads/{quote(thread_id, safe='')}/tree"
        ours = wanted if wanted != "default" else ""
        return self._with(path, [("filter", ours or None), ("start", start)])

    def stats(self, thread_id: str, *, shown: int | None = None) -> str:
        """The page of what a thread used, with longer tables when ``shown`` rows are asked for."""
        return self._with(f"/threads/{quote(thread_id, safe='')}/stats", [("shown", shown)])

    @staticmethod
    def stats_json(thread_id: str) -> str:
        """The same as JSON."""
        return f"/api/threads/{quote(thread_id, safe='')}/stats"

    def waiting(self) -> str:
        """The page of every dialog that waits."""
        return self._with("/waiting")

    def follow(self, thread_id: str, *, first: str = "") -> str:
        """The websocket of a pane whose first message is ``first``: snapshots begin there."""
        path = f"/threads/{quote(thread_id, safe='')}/follow"
        return f"{path}?{urlencode({'from': first})}" if first else path
