"""Threads to look at: one for each state of a page that must not be left over."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from enso import transcript, wire
from enso.server.frames import hrefs_under
from enso.server.looks import dom_token
from enso.server.messages import interrupted_tail, transcript_to_messages
from enso.server.presenter import SIGN_WORDS
from enso.server.stats import stats_shape
from enso.server.stats_tables import (
    cost_chart,
    cost_says,
    facts,
    requests_table,
    tool_chart,
    tools_table,
    turns_table,
)
from enso.server.views import (
    Composer,
    Deleted,
    PageView,
    PaneView,
    RailFilling,
    RailGroup,
    RailRow,
    RailView,
    StatsView,
    TreeChoice,
    TreeView,
    WaitingItem,
    WaitingView,
)
from tests.fakes.fake_stats import fake_stats

NOON = 1_764_504_000_000  # 30 November 2025, 12:00 UTC


def user(
    entry_id: str, text: str, *more: transcript.Part, at: int = NOON
) -> transcript.TranscriptMessage:
    """A prompt."""
    return transcript.TranscriptMessage(
        id=entry_id, role="user", parts=(transcript.TextPart(text), *more), created_at=at
    )


def agent(entry_id: str, *parts: transcript.Part, **fields: Any) -> transcript.TranscriptMessage:
    """A reply; with tool calls unless it says otherwise."""
    calls = any(isinstance(part, transcript.ToolCallPart) for part in parts)
    given: dict[str, Any] = {
        "stop_reason": "tool-use" if calls else "stop",
        "model": "lab-coder",
        "provider": "labserver",
        "created_at": NOON,
        "usage": transcript.Usage(input=18_400, output=612, cost=0.04),
    }
    return transcript.TranscriptMessage(
        id=entry_id, role="assistant", parts=parts, **{**given, **fields}
    )


def call(call_id: str, name: str, **arguments: Any) -> transcript.ToolCallPart:
    """A tool call."""
    return transcript.ToolCallPart(call_id, name, arguments)


def result(
    call_id: str, text: str, *more: transcript.Part, **fields: Any
) -> transcript.TranscriptToolResult:
    """A tool's answer."""
    return transcript.TranscriptToolResult(
        id=f"result-{call_id}",
        tool_call_id=call_id,
        tool_name="",
        parts=(transcript.TextPart(text), *more),
        **fields,
    )


def refused(entry_id: str, **fields: Any) -> transcript.TranscriptMessage:
    """A refused attempt."""
    given: dict[str, Any] = {
        "provider": "OpenAI",
        "model": "gpt-5.2",
        "refusal_class": "rate limit",
        "status": 429,
        "reason": (
            "Rate limit reached on requests per min: Limit 3, Used 3. Please try again in 20 s."
        ),
    }
    refusal = transcript.Refusal(**{**given, **fields})
    return agent(entry_id, stop_reason="error", refusal=refusal, usage=None)


def png(width: int, height: int) -> transcript.ImagePart:
    """An image of a plain gradient."""

    def line(y: int) -> bytes:
        return b"\0" + bytes(n for x in range(width) for n in (200, 90 + y % 120, x * 200 // width))

    def chunk(kind: bytes, data: bytes) -> bytes:
        sum_of_both = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + sum_of_both

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = (
        chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"".join(line(y) for y in range(height))))
        + chunk(b"IEND", b"")
    )
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
    return transcript.ImagePart("image/png", data)


DIFF = """     ...
  8     rate: Decimal
  9
 10     def total(self) -> Decimal:
-11         lines = sum(round(l.price * l.quantity, 2) for l in self.lines)
-12         tax = round(lines * self.rate, 2)
-13         return lines + tax
+11         net = sum(l.price * l.quantity for l in self.lines)
+12         return (net * (1 + self.rate)).quantize(CENT, ROUND_HALF_EVEN)
 13
     ..."""

WORK: Sequence[transcript.TranscriptEntry] = (
    user(
        "u1",
        "The order total differs from the sum of its lines by one cent on some orders. "
        "Find out why, and fix it with a test.",
    ),
    agent(
        "a1",
        transcript.ThinkingPart("Totals round twice, perhaps: *once a line*, once a tax.\n\nLook."),
        transcript.TextPart(
            "Each line is rounded on its own and then summed; the tax is added *before* rounding "
            "in one place and *after* in the other. I will look at both."
        ),
        call("c1", "read", path="shop/orders.py", offset=1, limit=80),
        call("c2", "grep", pattern="quantize(", path="shop"),
        call("c3", "edit", path="shop/orders.py", edits=[{"oldText": "a", "newText": "b"}]),
        call("c4", "bash", command="pytest -q tests/test_orders.py"),
    ),
    result("c1", "class Order:\n    lines: list[Line]\n    rate: Decimal\n", duration_ms=3),
    result("c2", "shop/orders.py:14: quantize(CENT)\nshop/tax.py:9: quantize(CENT)\n"),
    result("c3", "Successfully replaced 1 block(s).", details={"diff": DIFF}),
    result(
        "c4",
        "F.......\nE   assert Decimal('17.99') == Decimal('17.98')\n\n\nCommand exited with code 1",
        is_error=True,
        duration_ms=12_300,
    ),
    agent(
        "a2",
        transcript.TextPart(
            "One test pinned the wrong value. The rule in [docs/money.md](docs/money.md) says "
            "half-even on the order, not on the line ([the standard](https://example.org/754)):\n\n"
            '```python\nassert order.total() == Decimal("17.98")  # was 17.99\n```\n\n'
            "What changed:\n\n1. `Order.total` rounds **once**, at the end\n2. the test says so\n\n"
            "| order | before | after |\n|:--|--:|--:|\n| A-17 | 17.99 | 17.98 |\n"
            "| A-18 | 4.00 | 4.00 |\n"
        ),
        duration_ms=41_000,
    ),
    transcript.TranscriptMarker(
        id="k1",
        kind="compaction",
        title="Context was compacted here: 96 k tokens before",
        text="The person asked why totals differ by a cent; rounding was fixed in `Order.total`.",
    ),
    user("u2", "Now run the whole suite, and look at this picture.", png(320, 120)),
    refused("r1"),
    refused("r2"),
    refused("r3"),
    user("u3", "Again, please."),
    agent(
        "a3",
        transcript.TextPart("The suite is green again: 214 passed."),
        call("c9", "bash", command="make dist"),
        usage=None,
    ),
)


def _tools(count: int) -> list[transcript.TranscriptEntry]:
    entries: list[transcript.TranscriptEntry] = [user("u1", "Go through every module.")]
    names = ("read", "bash", "grep", "ls", "find", "frobnicate")
    for number in range(count):
        name = names[number % len(names)]
        arguments = {"path": f"src/module_{number}.py"}
        if name == "bash":
            arguments = {"command": f"wc -l src/module_{number}.py\necho done"}
        if name in ("grep", "find"):
            arguments = {"pattern": f"def f_{number}\\(", "path": "src"}
        if name == "frobnicate":
            arguments = {"x": "1", "deep": "{'a': [1, 2, 3]}" * 20}
        failed = number % 11 == 3
        entries += [
            agent(f"a{number}", transcript.ToolCallPart(f"c{number}", name, arguments)),
            result(f"c{number}", f"line of {number}\n" * (number * 40 + 1), is_error=failed),
        ]
    parallel = [call(f"p{number}", "read", path=f"docs/{number}.md") for number in range(8)]
    entries += [
        agent("pp", transcript.TextPart("Now the documents, all at once."), *parallel),
        *(result(f"p{number}", "text\n") for number in range(8)),
        agent("end", transcript.TextPart("Done: nothing else to say."), usage=None),
    ]
    return entries


WIDE = "x" * 400

HARD: Sequence[transcript.TranscriptEntry] = (
    user("u1", "مرحبا، كيف يمكنني إصلاح الخطأ في `orders.py`؟ שלום"),
    agent(
        "a1",
        transcript.TextPart(
            "مرحبا! يوجد خطأ في التقريب.\n\n- أولاً\n- ثانياً\n\nAnd in English: "
            f"`{WIDE}` and {WIDE}.\n\n```\n{WIDE}\n```\n\n| "
            + " | ".join(f"a column named {n}" for n in range(14))
            + " |\n|"
            + "---|" * 14
            + "\n| "
            + " | ".join(f"value {n}" for n in range(14))
            + " |\n\n> A quote that says\n> > that another said\n\n# A heading\n\n## Another\n\n"
            "<script>alert('shown as text')</script> ![far](https://example.org/x.png)\n\n"
            "- a\n  - b\n    - c\n\n---\n\n"
            "👩‍👩‍👧‍👦 é ẑ 漢字とかな混じりの文章は、ここで折り返されます。"
        ),
        stop_reason="length",
    ),
    user(
        "u2",
        "Here is the log, tell me what fails first:\n" + "2026-01-01 12:00 GET /orders 200\n" * 200,
    ),
    agent("a2", stop_reason="stop", usage=None),
    transcript.TranscriptMarker(
        id="k1",
        kind="shell",
        title="Ran: git status --short --branch " + "and more " * 30,
        text="## main\n M a.py",
    ),
    user("u3", "Stop me.", transcript.ImagePart("image/svg+xml", "AAAA")),
    agent("a3", transcript.TextPart("I was about to say that"), stop_reason="aborted"),
    user("u4", "This one hangs."),
)

BARE = wire.Usage(
    input=0, output=0, cache_read=0, cache_write=0, total_tokens=0, cost=0, cost_known=True
)
SPENT = wire.Usage(
    input=912_000, output=31_000, cache_read=0, cache_write=0, total_tokens=943_000, cost=0.31,
    cost_known=True,
)  # fmt: skip


def composer(**fields: Any) -> Composer:
    """A composer that can send."""
    given: dict[str, Any] = {
        "action": "/threads/t1/prompt",
        "prepare_href": "/prepare",
        "prompt_id": "prompt-1",
        "blocked": "",
        "model_label": "Lab Coder 30B",
        "mode_label": "ask",
        "project_id": "",
        "projects": (),
        "draft": "",
        "error": "",
    }
    return Composer(**{**given, **fields})


def pane(
    entries: Sequence[transcript.TranscriptEntry] = (), *, word: str = "cold", **fields: Any
) -> PaneView:
    """A pane over a transcript."""
    given: dict[str, Any] = {
        "thread_id": "t1",
        "key": "t1",
        "title": "Totals are off by one cent",
        "fresh": False,
        "project_name": "shop-api",
        "project_detail": "/home/dev/shop-api",
        "message_count": len(entries),
        "messages": transcript_to_messages(entries),
        "earlier_href": None,
        "earlier_count": 0,
        "history_href": "/threads/t1/history?before=",
        "status": wire.Status(live=False, busy=word == "busy", generation=3, word=word),
        "usage": SPENT,
        "context": None,
        "interrupted": interrupted_tail(entries),
        "follow_href": "/threads/t1/follow",
        "notice": "",
        "composer": composer(),
        "abort_href": "/threads/t1/abort",
        "new_thread_href": "/",
    }
    return PaneView(**{**given, **fields})


MODES = (
    wire.PermissionModeChoice(id="plan", label="plan", description="Reads, and changes nothing."),
    wire.PermissionModeChoice(
        id="ask", label="ask", description="Asks before it runs a command or changes a file."
    ),
    wire.PermissionModeChoice(
        id="edit",
        label="edit",
        description="Changes files of the project freely; asks before it runs a command.",
    ),
    wire.PermissionModeChoice(
        id="auto",
        label="auto",
        description="Asks nothing, but before it writes outside of the project.",
    ),
)
LEVELS = ["off", "low", "medium", "high"]
MODELS = (
    wire.ModelChoice(
        provider="labserver", model="lab-coder", label="Lab Coder 30B", levels=LEVELS,
        context_window=128_000,
    ),
    wire.ModelChoice(
        provider="labserver", model="lab-mini", label="Lab Mini", levels=[], context_window=8_192
    ),
    wire.ModelChoice(
        provider="openai", model="gpt-5.2", label="GPT-5.2", levels=LEVELS, context_window=400_000
    ),
    *(
        wire.ModelChoice(
            provider="house", model=f"m{n}", label=f"House model {n}, a long name", levels=[]
        )
        for n in range(12)
    ),
)  # fmt: skip


def agent_pane(
    entries: Sequence[transcript.TranscriptEntry] = (), *, word: str = "held", **fields: Any
) -> PaneView:
    """A pane in which the agent can be driven."""
    busy = word in ("busy", "needs you")
    given: dict[str, Any] = {
        "status": wire.Status(live=True, busy=busy, generation=3, word=word),
        "hrefs": {
            **hrefs_under("/threads/t1"),
            **{name: f"/threads/t1/{name}" for name in ("retry", "context", "entries")},
        },
        "modes": MODES,
        "mode": "ask",
        "models": MODELS,
        "model": ("labserver", "lab-coder"),
        "level": "low",
        "context": wire.Context(tokens=34_000, window=128_000),
        "interrupted": None,
    }
    return pane(entries, word=word, **{**given, **fields})


def busy_with(kind: Any, word: Any = "busy", **fields: Any) -> wire.Status:
    """A status of a run in flight."""
    activity = wire.Activity(kind=kind, **{"detail": "", **fields})
    return wire.Status(live=True, busy=True, generation=3, word=word, activity=activity)


def dialog(dialog_id: str, kind: Any, title: str, **fields: Any) -> wire.Dialog:
    """A dialog that waits."""
    given: dict[str, Any] = {"options": [], "created_at": "2025-11-30T12:00:00Z"}
    return wire.Dialog(id=dialog_id, kind=kind, title=title, **{**given, **fields})


def asks(dialog_id: str, title: str, name: str, **arguments: Any) -> wire.Dialog:
    """A permission that is asked for a tool call."""
    return dialog(
        dialog_id, "permission", title, tool=wire.DialogTool(name=name, arguments=arguments)
    )


ASK_RUN = asks("d1", "May it run this command?", "bash", command="rm -rf build/ && make dist")
ASK_LONG = asks(
    "d2",
    "May it run this command?",
    "bash",
    command="set -e\nfor f in $(git ls-files '*.py'); do\n  sed -i 's/\u202eround/quantize/' $f\n"
    "done\npytest -q   # " + "and a comment that does not end " * 12,
    timeout=600,
)
ASK_EDIT = asks(
    "d3",
    "May it change this file?",
    "edit",
    path="shop/orders.py",
    edits=[
        {
            "oldText": "    def total(self) -> Decimal:\n        lines = sum(\n"
            "            round(l.price * l.quantity, 2) for l in self.lines)\n"
            "        return lines\n",
            "newText": "    def total(self) -> Decimal:\n"
            "        net = sum(l.price * l.quantity for l in self.lines)\n"
            "        return (net * (1 + self.rate)).quantize(CENT, ROUND_HALF_EVEN)\n",
        },
        {"oldText": "import math", "newText": "from decimal import ROUND_HALF_EVEN, Decimal"},
    ],
)
ASK_WRITE = asks(
    "d4",
    "May it write this file?",
    "write",
    path="tests/test_money.py",
    content="".join(f"def test_{n}() -> None:\n    assert total({n}) == {n}\n\n" for n in range(9)),
)
KINDS = (
    dialog(
        "k1",
        "select",
        "Which branch?",
        message="There are several that fit.",
        options=[wire.DialogOption(value=f"b{n}", label=f"feature/cart-{n}") for n in range(5)],
    ),
    dialog("k2", "confirm", "Push to origin?", message="Three commits,\non the branch main."),
    dialog("k3", "input", "What is it to be called?"),
    dialog("k4", "editor", "Write the commit message"),
)
QUEUE = (
    wire.QueuedPrompt(id="q1", message="And look at the tax of the second line too.", when="steer"),
    wire.QueuedPrompt(
        id="q2",
        message="When that is done, write it up in the changelog.\nKeep it short, and name the "
        "orders that were wrong: A-17, and perhaps those of last week which nobody looked at yet.",
        when="after",
    ),
)
COMMANDS = (
    wire.Command(
        name="compact",
        description="Sum up the conversation so far, to make room.",
        source="enso",
        argument_hint="[what to keep]",
    ),
    wire.Command(name="fork", description="Go on in a new thread.", source="enso"),
    wire.Command(
        name="review",
        description="Looks at the changes of this branch, one file after the other, and says what "
        "it would do otherwise",
        source="prompt",
    ),
    wire.Command(name="release-notes", description="Writes them.", source="skill"),
)
RUNNING: Sequence[transcript.TranscriptEntry] = (
    *WORK[:6],
    user("u8", "Run the whole suite, and build it."),
    agent(
        "a8",
        transcript.TextPart("The suite first."),
        call("r1", "bash", command="pytest -q"),
        call("r2", "bash", command="set -e\nmake dist\nls -l dist"),
    ),
)


def running(entries: Sequence[transcript.TranscriptEntry]) -> list[wire.Message]:
    """The messages of a transcript whose last message's calls are running."""
    *before, last = transcript_to_messages(entries)
    parts = [
        part.model_copy(update={"state": "running"})
        if isinstance(part, wire.ToolCallPart)
        else part
        for part in last.parts
    ]
    return [*before, last.model_copy(update={"parts": parts})]


def row(number: int, title: str, age: str, sign: str = "cold", **fields: Any) -> RailRow:
    """A row of the rail."""
    word, meaning = SIGN_WORDS[sign]
    given: dict[str, Any] = {
        "thread_id": f"t{number}",
        "key": dom_token(f"t{number}"),
        "href": f"/threads/t{number}",
        "title": title,
        "untitled": not title,
        "message_count": number * 7,
        "last_activity_at": "",
        "age": age,
        "sign": sign,
        "sign_word": word,
        "sign_title": meaning,
        "current": number == 1,
    }
    return RailRow(**{**given, **fields})


ROWS = (
    row(1, "Totals are off by one cent", "now", "busy"),
    row(2, "Remove the build folder", "4 min", "needs"),
    row(3, "Refactor auth module", "12 min", "held"),
    row(4, "Explain the retry policy of the queue worker and why it gives up", "1 h", "refused"),
    row(5, "Run the whole test suite", "3 h", "cut"),
    row(6, "", "yesterday"),
    row(7, "What does this project do, in two sentences?", "28 Nov"),
)
MORE_ROWS = (
    row(8, "Cart drawer jumps when an item is removed", "26 Nov"),
    row(9, "Ein Überblick über die Komponenten 🧩", "21 Nov"),
    row(10, "مرحبا، كيف يمكنني إصلاح الخطأ في الطلبات", "2 Jan 2024"),
)


def group(key: str, name: str, rows: Sequence[RailRow]) -> RailGroup:
    """The rows of one project."""
    return RailGroup(project_id=key, name=name, detail=f"/home/dev/{name}", key=key, rows=rows)


def rail(**fields: Any) -> RailView:
    """A rail of two projects."""
    given: dict[str, Any] = {
        "groups": (
            group("a", "shop-api", ROWS),
            group("b", "shop-web", MORE_ROWS),
        ),
        "total": 240,
        "shown": 50,
        "query": "",
        "current_thread_id": "t1",
        "more_href": "/rail?shown=150",
        "refresh_href": "/rail",
        "new_thread_href": "/",
        "waiting": 1,
        "waiting_href": "/waiting",
        "serves_nothing_yet": False,
    }
    return RailView(**{**given, **fields})


EMPTY_RAIL: dict[str, Any] = {
    "groups": (),
    "total": 0,
    "more_href": None,
    "waiting": 0,
    "serves_nothing_yet": True,
}


def page(shown: PaneView, rail_view: RailView | None = None) -> PageView:
    """A whole page."""
    return PageView(rail=rail_view or rail(), pane=shown, htmx_config="{}")


FRESH: dict[str, Any] = {"title": "", "fresh": True, "usage": BARE}


def agent_scenes() -> dict[str, PageView]:
    """Pages on which the agent is driven."""
    needs = busy_with("needs-you", "needs you")
    wait = busy_with(
        "retry-wait", until="2099-11-30T12:00:00Z", attempt=2, attempts=3, detail="rate limit"
    )
    return {
        "asks": page(
            agent_pane(WORK[:6], status=needs, dialogs=(ASK_RUN,), queue=QUEUE),
        ),
        "asks-long": page(agent_pane(WORK[:1], status=needs, dialogs=(ASK_LONG,))),
        "asks-edit": page(agent_pane(WORK[:1], status=needs, dialogs=(ASK_EDIT, ASK_WRITE))),
        "kinds": page(agent_pane(WORK[:1], status=needs, dialogs=KINDS)),
        "running": page(
            agent_pane(
                RUNNING, messages=running(RUNNING), status=busy_with("tools", detail="bash, bash")
            )
        ),
        "retry": page(agent_pane((*WORK[:1], refused("r1"), refused("r2")), status=wait)),
        "drive": page(agent_pane(WORK, mode="plan")),
        "gone": page(
            agent_pane(
                WORK[:3],
                composer=composer(
                    blocked="The model “lab-huge” of labserver is not configured any more. "
                    "Choose another: nothing switches by itself."
                ),
                models=MODELS[:3],
                model=("", ""),
            )
        ),
        "deleted": page(
            agent_pane(
                **FRESH, deleted=Deleted(title="Remove the build folder", restore_href="/x/restore")
            )
        ),
    }


def waiting(*dialogs: wire.Dialog, **fields: Any) -> WaitingView:
    """The page of what waits."""
    items = [
        WaitingItem(
            key=f"t{n}",
            title=f"A thread that waits, number {n}" if n else "",
            href=f"/threads/t{n}",
            project_name="shop-api",
            dialog=one,
            dialogs_href=f"/threads/t{n}/dialogs",
        )
        for n, one in enumerate(dialogs)
    ]
    return WaitingView(items=items, href="/waiting", rail=rail(current_thread_id=""), **fields)


def twig(number: int, kind: Any, text: str, *, on: bool = True, **fields: Any) -> wire.TreeEntry:
    """One entry of a tree."""
    given: dict[str, Any] = {"depth": 0, "created_at": "2025-11-30T12:00:00Z", **fields}
    return wire.TreeEntry(id=f"e{number}", kind=kind, text=text, on_branch=on, **given)


TWIGS = (
    twig(1, "user", "The totals of a receipt are off by one cent. Find out why.", label="start"),
    twig(2, "tool-result", "src/receipts/totals.py", name="read"),
    twig(3, "assistant", "Each line is rounded before they are added: round the sum instead."),
    twig(4, "user", "Fix it, and show me the diff.", on=False, depth=1),
    twig(5, "tool-result", "src/receipts/totals.py", name="edit", on=False, depth=1),
    twig(6, "assistant", "Done: one line changed.", on=False, depth=1, label="worked, but slow"),
    twig(7, "user", "Now make it fast, " * 12, on=False, depth=2),
    twig(8, "assistant", "overloaded", on=False, depth=2, stop_reason="error"),
    twig(9, "user", "And with decimals?", on=False, depth=1),
    twig(10, "assistant", "", on=False, depth=1, stop_reason="aborted"),
    twig(11, "user", "Write a test that shows it first."),
    twig(12, "marker", "Earlier messages were summed up for the model", name="compaction"),
    twig(13, "tool-result", "pytest -q tests/test_totals.py", name="bash"),
    twig(14, "assistant", "The test fails as it should: 0.31 is not 0.30.", leaf=True, here=True),
)


def tree(entries: Sequence[wire.TreeEntry] = TWIGS, **fields: Any) -> TreeView:
    """The page of a thread's tree."""
    names = ("Conversation", "Without tools", "Prompts", "Labelled", "Everything")
    given: dict[str, Any] = {
        "key": "t1",
        "title": "Totals are off by one cent",
        "tree": wire.ThreadTree(
            thread_id="t1",
            leaf_id="e14",
            filter="default",
            total=len(entries) + 140,
            start=100,
            entries=list(entries),
        ),
        "choices": [TreeChoice(label=name, href="#", chosen=name == names[0]) for name in names],
        "thread_href": "/threads/t1",
        "go_href": "/threads/t1/tree",
        "again_href": "/threads/t1/tree",
        "label_href": "/threads/t1/label",
        "earlier_href": "/threads/t1/tree?start=0",
        "later_href": "/threads/t1/tree?start=114",
        "later_count": 40,
        "rail": rail(),
    }
    return TreeView(**{**given, **fields})


def used(turns: int = 24) -> StatsView:
    """What a thread used: turns of any size, one beside the branch, one of unknown price."""
    entries: list[transcript.TranscriptEntry] = []
    for number in range(turns):
        entries.append(user(f"u{number}", f"Step {number}: {PROMPTS[number % 4]}", at=NOON))
        for step in range(1 + number * 7 % 5):
            name = TOOLS[(number + step) % len(TOOLS)]
            cost = 0.004 * (1 + number * 5 % 11)
            usage = transcript.Usage(
                input=900 * (1 + step), output=120 + 40 * number, cache_read=9_000 * step,
                cost=cost, cost_known=number % 9 != 5,
            )  # fmt: skip
            call_id = f"c{number}-{step}"
            entries.append(
                agent(f"a{number}-{step}", call(call_id, name), usage=usage,
                      duration_ms=2300 + 700 * step, created_at=NOON + number * 60_000)
            )  # fmt: skip
            failed = (number + step) % 7 == 0
            entries.append(
                structs.replace(
                    result(call_id, "done", is_error=failed, duration_ms=step * 1400 + 90),
                    tool_name=name,
                )
            )
        entries.append(agent(f"a{number}", transcript.TextPart("Done."), duration_ms=4100))
    stats = stats_shape("t1", "shop", fake_stats(entries))
    beside = [turn.model_copy(update={"on_branch": number != 6})
              for number, turn in enumerate(stats.turns)]  # fmt: skip
    stats = stats.model_copy(update={"turns": beside})
    return StatsView(
        key="t1",
        thread_id="t1",
        title="Fix the rounding of order totals" if turns else "",
        thread_href="#",
        json_href="#",
        again_href="/x",
        more_href="#" if turns else None,
        facts=facts(stats),
        cost_chart=cost_chart(stats, key="t1"),
        cost_says=cost_says(stats),
        tool_chart=tool_chart(stats, key="t1"),
        turns=turns_table(stats, 20),
        requests=requests_table(stats, 20),
        tools=tools_table(stats),
        rail=rail(),
    )


PROMPTS = (
    "look at the totals",
    "fix it with a test",
    "now the tax, which is added before the rounding in one place and after it in the other",
    "commit",
)
TOOLS = ("read", "bash", "edit", "grep", "a_tool_with_a_very_long_name_of_some_extension")


def scenes() -> dict[str, PageView]:
    """Every page to look at, by name."""
    return {
        **agent_scenes(),
        "work": page(pane(WORK)),
        "tools": page(pane(_tools(24), word="busy")),
        "hard": page(
            pane(
                HARD,
                word="interrupted",
                title="A title that goes on and on, " * 9,
                notice="2 lines of this thread's file could not be read and are left out.",
                usage=SPENT.model_copy(update={"cost_known": False}),
            )
        ),
        "fresh": page(
            pane(
                **FRESH,
                composer=composer(projects=(("a", "shop-api"), ("b", "shop-web")), project_id="a"),
            ),
            rail(**EMPTY_RAIL),
        ),
        "blocked": page(
            pane(
                **FRESH,
                composer=composer(
                    blocked="No model is configured. Put a provider into models.json, or set "
                    "OPENAI_API_KEY and start Enso again."
                ),
            ),
            rail(**{**EMPTY_RAIL, "serves_nothing_yet": False, "query": "nothing like it"}),
        ),
        "filling": page(
            pane(**FRESH, composer=composer()),
            rail(filling=RailFilling(looked_at=2_312, files=10_000, href="/rail")),
        ),
        "refused": page(
            pane(
                (user("u1", "Say it."), refused("r1", status=None, reason="x" * 300)),
                word="refused",
                composer=composer(
                    error="The thread is busy with another prompt.", draft="Kept\ntext"
                ),
                context=wire.Context(tokens=34_000, window=128_000),
            )
        ),
    }
