"""Numbers and states in words, as the templates say them."""

from __future__ import annotations

from datetime import datetime

from enso import wire
from enso.server.ages import clock_words
from enso.server.tool_lines import duration_words
from enso.server.views import PaneView


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


def cost(usage: wire.Usage) -> str:
    """``$0.31``; where a price is not known, ``at least $0.31`` or ``price unknown``."""
    if not usage.cost_known:
        return f"at least {_dollars(usage.cost)}" if usage.cost else "price unknown"
    return _dollars(usage.cost) if usage.cost else ""


def _dollars(amount: float) -> str:
    return "under $0.01" if amount < 0.005 else f"${amount:,.2f}"


def percent(part: int, whole: int) -> str:
    """``27 %``, to the nearest."""
    return f"{round(100 * part / whole)} %"


def spend(usage: wire.Usage) -> str:
    """What a thread has used so far, empty when nothing: ``18.4 k tokens · $0.31``."""
    if not usage.total_tokens:
        return ""
    words = [f"{tokens(usage.total_tokens)} tokens", cost(usage)]
    return " · ".join(word for word in words if word)


def heading(pane: PaneView) -> str:
    """The pane's heading: the thread's title, or what it is without one."""
    return pane.title or ("New thread" if pane.fresh else "Untitled")


def page_title(pane: PaneView) -> str:
    """The page's title: it names the thread."""
    return f"{heading(pane)} · Enso"


def after_names(refusal: wire.Refusal) -> str:
    """The bubble's sentence behind the provider's and the model's name."""
    return refusal.sentence.removeprefix(f"{refusal.provider} · {refusal.model}")


def clock(created_at: str) -> str:
    """When a message was made, in this machine's zone; the browser says it in the reader's."""
    now = datetime.now().astimezone()
    return clock_words(datetime.fromisoformat(created_at), now=now)


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
