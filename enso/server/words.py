"""Numbers and states in words, as the templates say them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from enso import wire
from enso.server.ages import clock_words, moment_words
from enso.server.looks import STATUS_WORDS
from enso.server.tool_lines import duration_words
from enso.server.views import PaneView, WaitingView

FILE_KINDS = {"html": "HTML", "md": "Markdown", "jsonl": "JSONL"}
"""What a thread can be taken away as, by its file's ending."""


def count(number: int, word: str) -> str:
    """``1 message``, ``1,204 messages``."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def tokens(number: int) -> str:
    """``612``, ``18.4 k``, ``2.1 M``: a count of tokens in few letters."""
    if number < 1000:
        return str(number)
    if number < 100_000:
        return f"{number / 1000:.1f} k"
    if number < 1_000_000:
        return f"{number // 1000} k"
    return f"{number / 1_000_000:.1f} M"


def exact(number: int) -> str:
    """``1,204``."""
    return f"{number:,}"


def line(text: str, limit: int = 200) -> str:
    """Text on one line, cut: what a row of a list has room for."""
    words = " ".join(text[: limit * 4].split())
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def cost(usage: wire.Usage) -> str:
    """``$0.31``; where a price is not known, ``at least $0.31`` or ``price unknown``."""
    if not usage.cost:
        return "" if usage.cost_known else "price unknown"
    return _dollars(usage.cost) if usage.cost_known else _at_least(usage.cost, _dollars)


def price(usage: wire.Usage) -> str:
    """A cost to the hundredth of a cent: ``$0.0312``; ``at least $1.20``, ``price unknown``.

    Empty for what cost nothing.
    """
    if not usage.cost:
        return "" if usage.cost_known else "price unknown"
    return money(usage.cost) if usage.cost_known else _at_least(usage.cost, money)


def _at_least(amount: float, words: Callable[[float], str]) -> str:
    """What is known of a cost; too little to be named, it is no bound worth saying."""
    told = words(amount)
    return "price unknown" if told.startswith("under") else f"at least {told}"


def money(amount: float) -> str:
    """``$12.40``, ``$0.25``, ``$0.0312``: dollars, below one to the hundredth of a cent."""
    if 0 < amount < 0.00005:
        return "under $0.0001"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}".removesuffix("00")


def _dollars(amount: float) -> str:
    return "under $0.01" if amount < 0.005 else f"${amount:,.2f}"


def percent(part: int, whole: int) -> str:
    """``27 %``, to the nearest."""
    return f"{round(100 * part / whole)} %"


def spend(usage: wire.Usage) -> str:
    """What a thread has used so far, empty when nothing: ``18.4 k tokens · $0.31``."""
    if not usage.total_tokens:
        return ""
    told, unknown = cost(usage), unpriced(usage)
    known = "" if unknown and not told.startswith("at least") else told
    words = [f"{tokens(usage.total_tokens)} tokens", known, unknown]
    return " · ".join(word for word in words if word)


_TREE_WHO = {"user": "You", "assistant": "Agent"}
_TREE_MARKERS = {"compaction": "Summary", "branch-summary": "Summary", "shell": "Shell"}
_TREE_ENDS = {"error": "Refused", "aborted": "Stopped", "length": "Cut off", "other": "Ended"}


def tree_who(entry: wire.TreeEntry) -> str:
    """Who or what an entry of a tree is: ``You``, ``Agent``, ``bash``, ``model change``."""
    if entry.kind == "marker":
        return _TREE_MARKERS.get(entry.name or "", "Note")
    if entry.kind == "tool-result":
        return entry.name or "tool"
    name = (entry.name or entry.kind).removeprefix("message:").replace("_", " ")
    return _TREE_WHO.get(entry.kind, name)


def tree_text(entry: wire.TreeEntry) -> str:
    """What an entry of a tree says, or that it says nothing."""
    if entry.kind == "assistant" and entry.stop_reason in _TREE_ENDS:
        end = _TREE_ENDS[entry.stop_reason]
        return f"{end}: {entry.text}" if entry.text else end
    if entry.text:
        return entry.text
    return {"user": "No text", "assistant": "Tool calls", "label": "Taken away"}.get(entry.kind, "")


def tree_title(title: str) -> str:
    """The title of the page of a thread's tree."""
    return f"Tree of {title or 'Untitled'} · Enso"


def unpriced(usage: wire.Usage) -> str:
    """``2 requests of unknown price``, where that is not said by the cost itself."""
    number = usage.unpriced_requests
    if usage.cost_known or not number or (not usage.cost and number == 1):
        return ""
    return f"{count(number, 'request')} of unknown price"


def turn(message: wire.Message) -> str:
    """What the turn that a message ends used, when it was more than that one request."""
    spent = message.turn
    if spent is None or spent.requests < 2 or not spent.usage.total_tokens:
        return ""
    return f"turn: {count(spent.requests, 'request')} · {spend(spent.usage)}"


def stats_title(title: str) -> str:
    """The title of the page of what a thread used."""
    return f"Usage · {title or 'Untitled'} · Enso"


def heading(pane: PaneView) -> str:
    """The pane's heading: the thread's title, or what it is without one."""
    return pane.title or ("New thread" if pane.fresh else "Untitled")


def page_title(pane: PaneView, waiting: int = 0) -> str:
    """The page's title: it names the thread, and counts what waits for a person."""
    count = max(waiting, len(pane.dialogs))
    return f"({count}) {heading(pane)} · Enso" if count else f"{heading(pane)} · Enso"


def needs(threads: int) -> str:
    """``1 thread needs you``, ``3 threads need you``."""
    return f"{count(threads, 'thread')} {'needs' if threads == 1 else 'need'} you"


def waiting_title(view: WaitingView) -> str:
    """The title of the page of what waits."""
    count = len(view.items)
    return f"({count}) Waiting for you · Enso" if count else "Nothing waits for you · Enso"


def path_ends(path: str) -> tuple[str, str, str]:
    """A path's folder, the slash behind it, and its name; a folder's name ends in a slash."""
    folder, slash, name = path.removesuffix("/").rpartition("/")
    return folder, slash, name + ("/" if path.endswith("/") else "")


def path_mention(path: str) -> str:
    """How a prompt mentions a file, with the space behind it; a folder waits for what is in it."""
    mention = f'@"{path}"' if any(letter.isspace() for letter in path) else f"@{path}"
    return mention if path.endswith("/") else f"{mention} "


def after_names(refusal: wire.Refusal) -> str:
    """The bubble's sentence behind the provider's and the model's name."""
    return refusal.sentence.removeprefix(f"{refusal.provider} · {refusal.model}")


def status(it: wire.Status, *, fresh: bool) -> str:
    """The first words of the status line: what state the thread is in, and in which run."""
    word = STATUS_WORDS[it.word][1]
    if it.activity is not None and it.activity.kind == "stopping":
        word = "Stopping"
    if fresh and it.word == "cold":
        word = "Not started"
    return f"{word} · run {it.generation}" if it.busy else word


def activity(it: wire.Activity | None) -> str:
    """What a run is doing: ``asking the model``, ``running bash``; empty where the word says it."""
    if it is None or it.kind in ("stopping", "needs-you"):
        return ""
    detail = _short(it.detail)
    if it.kind == "tools":
        return f"running {detail}" if detail else "running tools"
    if it.kind == "asking":
        return f"asking {detail or 'the model'}"
    if it.kind == "retry-wait":
        return "trying again"
    return {"answering": "answering", "compacting": "summing up"}[it.kind]


def attempt(it: wire.Activity) -> str:
    """``attempt 2 of 3``; empty when it is the first."""
    if not it.attempt:
        return ""
    return f"attempt {it.attempt} of {it.attempts}" if it.attempts else f"attempt {it.attempt}"


def _short(text: str, limit: int = 80) -> str:
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def wait(until: str) -> str:
    """How long it is until a time: ``in 14 s``, ``in 3 min``, ``now``; the browser counts down."""
    seconds = math.ceil((datetime.fromisoformat(until) - datetime.now(UTC)).total_seconds())
    if seconds <= 0:
        return "now"
    return f"in {seconds} s" if seconds < 100 else f"in {math.ceil(seconds / 60)} min"


def context_window(size: int) -> str:
    """The size of a model's context in tokens: ``128 k``, ``1 M``."""
    return tokens(size).replace(".0 ", " ")


def mode_label(choices: Sequence[wire.PermissionModeChoice], mode: str) -> str:
    """A mode in the chip: its label, or its own name where it is not known."""
    return next((choice.label for choice in choices if choice.id == mode), _short(mode, 40))


def mode_meaning(choices: Sequence[wire.PermissionModeChoice], mode: str) -> str:
    """What a mode lets the agent do, as a sentence; empty where it is not known."""
    return next((choice.description for choice in choices if choice.id == mode), "")


def knows_mode(choices: Sequence[wire.PermissionModeChoice], mode: str) -> bool:
    """Whether a mode is among those that can be chosen."""
    return any(choice.id == mode for choice in choices)


def levels_of(choices: Sequence[wire.ModelChoice], model: tuple[str, str]) -> Sequence[str]:
    """The thinking levels that a model, named by (provider, model), takes."""
    return next((one.levels for one in choices if (one.provider, one.model) == model), ())


def thinks(levels: Sequence[str]) -> bool:
    """Whether there is a level to speak of: a model that does not think has ``off`` alone."""
    return any(level != "off" for level in levels)


def by_provider(
    choices: Sequence[wire.ModelChoice],
) -> list[tuple[str, list[wire.ModelChoice]]]:
    """Models under their providers' names, both in the order in which they are configured."""
    grouped: dict[str, list[wire.ModelChoice]] = {}
    for choice in choices:
        grouped.setdefault(choice.provider, []).append(choice)
    return [
        (members[0].provider_name or provider, members) for provider, members in grouped.items()
    ]


def clock(created_at: str) -> str:
    """When a message was made, in this machine's zone; the browser says it in the reader's."""
    now = datetime.now().astimezone()
    return clock_words(datetime.fromisoformat(created_at), now=now)


def moment(created_at: str) -> str:
    """When something was, for whoever reads it later and elsewhere: ``28 Nov 2026, 14:05 UTC``."""
    return moment_words(datetime.fromisoformat(created_at))


def footer(message: wire.Message) -> list[str]:
    """The quiet line under a reply: model, tokens, cost, time."""
    told = [message.model or ""]
    usage = message.usage
    if usage is not None and usage.total_tokens:
        read = usage.input + usage.cache_read + usage.cache_write
        told += [f"{tokens(read)} in · {tokens(usage.output)} out", cost(usage)]
    if (message.duration_ms or 0) >= 1000:
        told.append(duration_words(message.duration_ms))
    return [word for word in told if word]
