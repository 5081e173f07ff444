"""Pages behind a thread to look at: a context that was summed up twice, a request, the entries."""

from __future__ import annotations

from collections.abc import Mapping

from enso import wire
from enso.server.context_chart import Drawn, context_chart
from enso.server.inspection_views import (
    Behind,
    ContextView,
    ElementRow,
    EntriesView,
    EntryRow,
    RequestRow,
    RequestView,
    Steps,
    role_sums,
)
from enso.server.render import Renderer
from tests.look.scenes import rail

HREFS: Mapping[str, str] = {
    name: f"/threads/t1/{name}" for name in ("thread", "context", "entries")
}
WORDS = "What stands here is how the message begins, on one line. " * 6


def behind(*, target: str = "") -> Behind:
    """The frame of a page of its own, or of a drawer."""
    return Behind(
        key="t1",
        thread_id="t1",
        title="Totals are off by one cent",
        hrefs=HREFS,
        target=target,
        rail=None if target else rail(),
    )


def request(index: int) -> wire.RequestContext:
    """One of ninety requests; every fortieth comes after a compaction."""
    tokens = 9_000 + index % 40 * 2_700
    return wire.RequestContext(
        index=index,
        entry_id=f"e{index}",
        created_at="2025-11-30T12:00:00Z",
        provider="labserver",
        model="lab-coder" if index % 7 else "a-model-with-a-long-name-of-30b-parameters",
        stop_reason="error" if index in (31, 32) else "tool-use",
        counted=tokens + 120,
        compacted=index in (40, 80),
        elements=3 + index % 40 * 2,
        characters=tokens * 4,
        tokens=tokens,
        left_out=2 if 32 < index < 40 else 0,
        shares=[],
    )


def context_view(*, target: str = "") -> ContextView:
    """A context of ninety requests."""
    requests = [request(index) for index in range(1, 91)]
    reading = wire.ThreadContext(
        thread_id="t1",
        project_id="shop",
        requests=requests,
        next=wire.ContextSize(elements=30, characters=9000, tokens=36_000, shares=[], left_out=0),
        compacted=False,
    )
    return ContextView(
        behind=behind(target=target),
        chart=context_chart(
            [Drawn(o.index, o.tokens, o.elements, o.stop_reason, o.compacted) for o in requests],
            key="t1",
            window=128_000,
        ),
        rows=[
            RequestRow(request=one, href="/x", ended="answered with tool calls")
            for one in reversed(requests)
        ],
        steps=Steps(older="/x", said="1 to 90 of 240 requests"),
        next=reading.next,
        next_href="/x",
        next_compacted=False,
        total=240,
    )


def request_view(*, target: str = "") -> RequestView:
    """A request of every role, one element edited and one left out."""
    roles = ("system", "compactionSummary", "user", "assistant", "toolResult", "bashExecution")
    elements = [
        wire.ContextElement(
            role=role,
            entry_id=f"e{number}",
            name="bash" if role == "toolResult" else None,
            size=number * 900 + 40,
            tokens=number * 225 + 10,
            text=WORDS,
            pieces=[
                wire.ContextPiece(kind="section", name="preamble", size=700),
                wire.ContextPiece(kind="tool", name="read", size=340),
            ],
            edited=number == 4,
        )
        for number, role in enumerate(roles)
    ]
    rows = [
        ElementRow(number=number, element=element, href="/x")
        for number, element in enumerate(elements, 1)
    ]
    detail = wire.RequestDetail(
        thread_id="t1", request=12, tokens=34_212, elements=elements, left_out=elements[-1:]
    )
    return RequestView(
        behind=behind(target=target),
        detail=detail,
        sums=role_sums(elements),
        rows=rows,
        left_out=rows[-1:],
        steps=Steps(said="6 elements"),
    )


def entries_view(*, target: str = "") -> EntriesView:
    """A branch of many kinds of entries, live."""
    kinds = ("message:assistant", "tool-result:bash", "custom:modes", "a_kind_of_another_program")
    return EntriesView(
        behind=behind(target=target),
        facts=[
            ("Thread", "0198f2c4-5b7d-7d20-9a43-6d1f7e0c2b11"),
            ("State", "live"),
            ("Directory", "/home/dev/shop-api"),
            ("File", "none yet: it is made when the first answer begins"),
            ("Commands", "/compact /fork /model /mode /name /export /help"),
        ],
        rows=[
            EntryRow(
                number=number,
                kind=kinds[number % 4],
                text=WORDS if number % 3 else "",
                created_at="2025-11-30T12:00:00Z",
                href="/x",
            )
            for number in range(24, 0, -1)
        ],
        steps=Steps(said="24 entries"),
        events=[
            wire.EmittedEvent(type="message-started", of="e24", times=1, text="labserver/lab"),
            wire.EmittedEvent(type="part-delta", of="e24/0", times=212, text=WORDS[:200]),
            wire.EmittedEvent(type="run-settled", times=1, text="complete"),
        ],
    )


def behind_pages(renderer: Renderer) -> dict[str, str]:
    """Each as a page of its own, by name."""
    return {
        "context": renderer.behind("_context.html", context_view(), page=True),
        "request": renderer.behind("_request.html", request_view(), page=True),
        "entries": renderer.behind("_entries.html", entries_view(), page=True),
    }


def in_drawer(renderer: Renderer) -> str:
    """The context as it stands in a pane's drawer."""
    return renderer.behind("_context.html", context_view(target="#drawer-t1"), page=False)
