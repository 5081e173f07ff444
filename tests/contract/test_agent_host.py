"""What every store behind the contract guarantees; run over session files and over the fake."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import (
    WINDOW_MESSAGES,
    EntryStored,
    MessageStarted,
    PartDelta,
    PartStarted,
    PromptRefused,
    RunSettled,
    SessionDirectoryRefused,
    SessionUnreadable,
    ThreadEvent,
)
from enso.thread_ids import new_thread_id
from enso.transcript import (
    ImagePart,
    ImageSketch,
    Refusal,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    TranscriptMessage,
)
from tests.contract.stores import Store
from tests.fakes.scripted_runtime import Reply

NOT_IDS = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "a/b",
    "a\\b",
    "a b",
    "-a",
    "a-",
    "a\n",
    "é",
    "a" * 129,
]


def never() -> Path:
    """A directory that must not be asked for."""
    raise AssertionError("new_session_directory was asked though there is a log")


class Run:
    """A live thread's events, as they come."""

    def __init__(self, thread: Any) -> None:
        self.thread = thread
        self.events: queue.Queue[ThreadEvent] = queue.Queue()
        thread.runtime.listen(self.events.put)

    def prompt(self, text: str) -> list[ThreadEvent]:
        """Prompt, and return every event up to the end of the run."""
        self.thread.runtime.prompt(text)
        return self.until_settled()

    def until_settled(self) -> list[ThreadEvent]:
        """Every event up to the end of the run."""
        events: list[ThreadEvent] = []
        while not events or not isinstance(events[-1], RunSettled):
            events.append(self.events.get(timeout=30))
        return events


def texts(entries: Any) -> list[str]:
    """The text of each message of a transcript."""
    messages = [entry for entry in entries if isinstance(entry, TranscriptMessage)]
    return ["".join(p.text for p in m.parts if isinstance(p, TextPart)) for m in messages]


# -- listing --------------------------------------------------------------------------------------


def test_nothing_stored_is_an_empty_listing(store: Store) -> None:
    """Before the first thread there is an empty listing, no error."""
    assert store.host.list_sessions() == []


def test_the_listing_is_newest_first(store: Store) -> None:
    """Threads are ordered by their newest message, not by when they were stored."""
    store.put("middle", ("user", "b"), minute=5)
    store.put("newest", ("user", "a"), minute=9)
    store.put("oldest", ("user", "c"), minute=1)
    assert [row.id for row in store.host.list_sessions()] == ["newest", "middle", "oldest"]


def test_a_row_holds_the_facts_of_its_thread(store: Store) -> None:
    """A row tells the first user message, the name, the count, the directory and the time."""
    store.put("t1", ("user", "Fix it"), ("assistant", "Done."), name="Repair", minute=3)
    (row,) = store.host.list_sessions()
    assert (row.id, row.cwd, row.first_message, row.name) == (
        "t1",
        store.project,
        "Fix it",
        "Repair",
    )
    assert (row.message_count, row.end) == (2, "complete")
    assert row.modified.isoformat(timespec="milliseconds") == "2026-01-01T00:03:00.001+00:00"


def test_one_row_is_the_same_as_in_the_listing(store: Store) -> None:
    """Asking for one thread gives the very row that the listing has."""
    store.put("t1", ("user", "a"))
    store.put("t2", ("user", "b"))
    assert [store.host.stored_thread(row.id) for row in store.host.list_sessions()] == (
        store.host.list_sessions()
    )


@pytest.mark.parametrize(
    "turns, end",
    [
        ([], "empty"),
        ([("user", "a")], "interrupted"),
        ([("user", "a"), ("assistant", "b")], "complete"),
    ],
)
def test_a_row_says_how_its_thread_ends(
    store: Store, turns: list[tuple[str, str]], end: str
) -> None:
    """An unanswered prompt is an interrupted thread, an answered one a complete one."""
    store.put("t1", *turns)
    (row,) = store.host.list_sessions()
    assert row.end == end


def test_a_thread_of_another_directory_is_not_listed(store: Store, tmp_path: Path) -> None:
    """What this server does not serve has no row, alone or in the listing."""
    store.put("elsewhere", ("user", "a"), directory=tmp_path / "other")
    store.put("here", ("user", "a"))
    assert [row.id for row in store.host.list_sessions()] == ["here"]
    assert store.host.stored_thread("elsewhere") is None


def test_a_removed_thread_leaves_the_listing(store: Store) -> None:
    """A thread that went is no row any more, and cannot be read."""
    store.put("t1", ("user", "a"))
    assert len(store.host.list_sessions()) == 1
    store.remove("t1")
    assert store.host.list_sessions() == []
    assert store.host.stored_thread("t1") is None
    assert store.host.read_stored_thread("t1") is None


# -- reading cold ---------------------------------------------------------------------------------


def test_a_stored_thread_reads_cold(store: Store) -> None:
    """A cold read gives the branch in order, without building anything."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."), name="Greeting")
    read = store.host.read_stored_thread("t1")
    assert read is not None
    assert texts(read.entries) == ["Hi", "Hello."]
    assert (read.id, read.cwd, read.name, read.skipped_lines) == (
        "t1",
        store.project,
        "Greeting",
        0,
    )
    assert store.built() == 0


def test_a_stretch_of_a_stored_branch_is_read(store: Store) -> None:
    """The last entries, those before them, and none beyond the first; nothing is built."""
    turns = [("user" if number % 2 else "assistant", f"{number}") for number in range(1, 8)]
    store.put("t1", *turns)
    for behind, size, told in ((0, 2, ["6", "7"]), (5, 9, ["1", "2"]), (9, 2, [])):
        read = store.host.read_stored_entries("t1", size=size, behind=behind)
        assert read is not None
        assert texts(read.entries) == told
        assert read.total == 7
        assert read.start == max(0, 7 - behind - len(told))
        assert read.cwd == store.project
    assert store.host.read_stored_entries("t2", size=1) is None
    assert store.built() == 0


def test_a_stored_thread_is_read_page_by_page(store: Store) -> None:
    """The last page, the one before a message, and everything from a message on; beside each what
    is said of the whole thread."""
    turns = [("user" if number % 2 else "assistant", f"{number}") for number in range(1, 8)]
    store.put("t1", *turns, name="Counting", mode="plan")
    read = store.host.read_stored_thread("t1")
    last = store.host.read_stored_page("t1", size=3)
    assert read is not None
    assert last is not None
    assert texts(last.entries) == ["5", "6", "7"]
    above = store.host.read_stored_page("t1", size=3, before=last.entries[0].id)
    assert above is not None
    assert texts(above.entries) == ["2", "3", "4"]
    first = store.host.read_stored_page("t1", size=3, before=above.entries[0].id)
    assert first is not None
    assert texts(first.entries) == ["1"]
    since = store.host.read_stored_page("t1", size=3, since=above.entries[0].id)
    assert since is not None
    assert since.entries == (*above.entries, *last.entries)
    pages = (last, above, first, since)
    assert [page.messages_before for page in pages] == [4, 1, 0, 1]
    for page in pages:
        assert (page.id, page.cwd, page.name, page.usage) == (
            read.id,
            read.cwd,
            read.name,
            read.usage,
        )
        assert (page.message_count, page.heading) == (7, "1")
        state = store.host.stored_permission_mode(page.state)
        assert state == store.host.stored_permission_mode(read.entries)
    assert store.built() == 0


def test_what_is_shown_first_is_no_more_than_fills_a_window(store: Store) -> None:
    """Of the last messages; a page before one, and one from a message on, is as long as ever."""
    count = 2 * WINDOW_MESSAGES
    store.put("t1", *(("user", f"{number}") for number in range(count)))
    first = store.host.read_stored_page("t1", size=count, light=True)
    assert first is not None
    assert texts(first.entries) == [f"{number}" for number in range(WINDOW_MESSAGES, count)]
    assert first.messages_before == WINDOW_MESSAGES
    short = store.host.read_stored_page("t1", size=3, light=True)
    assert short is not None
    assert len(short.entries) == 3
    for where in ({"before": first.entries[0].id}, {"since": first.entries[0].id}):
        page = store.host.read_stored_page("t1", size=count, light=True, **where)
        assert page == store.host.read_stored_page("t1", size=count, **where)


def test_a_page_tells_of_its_images_and_each_is_read_alone(store: Store) -> None:
    """Small ones are in the page; what is no image of the thread is none."""
    data = "iVBORw0KGgoA" * 2000
    store.put("t1", ("image", data), ("assistant", "A cat."), ("image", "AAAA"))
    page = store.host.read_stored_page("t1", size=3)
    assert page is not None
    prompts = [one for one in page.entries if isinstance(one, TranscriptMessage)]
    first, _, last = prompts
    assert first.parts[1] == ImagePart("image/png", "", ImageSketch(len(data), None))
    assert last.parts[1] == ImagePart("image/png", "AAAA")
    host = store.host
    assert host.read_stored_image("t1", first.id, 1) == ImagePart("image/png", data)
    assert host.read_stored_image("t1", last.id, 1) == ImagePart("image/png", "AAAA")
    for thread_id, entry_id, number in (
        ("t1", first.id, 0),
        ("t1", first.id, 2),
        ("t1", first.id, -1),
        ("t1", "no-entry", 1),
        ("t2", first.id, 1),
    ):
        assert host.read_stored_image(thread_id, entry_id, number) is None
    assert store.built() == 0


def test_a_page_of_what_is_not_there_is_none(store: Store) -> None:
    """No thread, no such message, a thread of a directory that is not served."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    store.put("away", ("user", "Hi"), ("assistant", "Hello."), directory=Path("/elsewhere"))
    assert store.host.read_stored_page("t1", size=3, before="no-message") is None
    assert store.host.read_stored_page("t1", size=3, since="") is None
    assert store.host.read_stored_page("t2", size=3) is None
    assert store.host.read_stored_page("away", size=3) is None


def test_an_unknown_id_has_no_thread_and_no_directory(store: Store) -> None:
    """Nothing stored: no read and no directory, so that a client can be told 404."""
    unknown = new_thread_id()
    assert store.host.read_stored_thread(unknown) is None
    assert store.host.stored_thread_directory(unknown) is None


def test_a_stored_log_is_handed_out_whole(store: Store) -> None:
    """The log can be read to its size, a line for every entry, also while the thread is live."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    cold = store.host.open_stored_log("t1")
    assert cold is not None
    with cold.stream as stream:
        text = stream.read(cold.size)
    assert cold.name.endswith("t1.jsonl")
    assert text.count(b"\n") == 3
    assert text.endswith(b"\n")
    hosted = store.host.create_session("t1", never)
    live = store.host.open_stored_log("t1")
    assert live is not None
    with live.stream as stream:
        assert stream.read(live.size) == text
    hosted.close()


def test_a_log_that_is_not_served_is_not_handed_out(store: Store, tmp_path: Path) -> None:
    """Neither of an unknown thread, nor of another directory, nor by what is no id."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."), directory=tmp_path / "elsewhere")
    assert store.host.open_stored_log("t1") is None
    assert store.host.open_stored_log("unknown") is None
    assert store.host.open_stored_log("../../t1") is None


def test_a_thread_of_another_directory_is_not_read_but_named(store: Store, tmp_path: Path) -> None:
    """Not served: no read, but its directory, so that a client can be told 403 and why."""
    elsewhere = tmp_path / "other"
    store.put("t1", ("user", "a"), directory=elsewhere)
    assert store.host.read_stored_thread("t1") is None
    assert store.host.stored_thread_directory("t1") == elsewhere


@pytest.mark.parametrize("not_id", NOT_IDS)
def test_what_is_no_id_is_no_thread_and_no_path(store: Store, not_id: str) -> None:
    """A malformed id finds nothing, opens nothing and creates nothing."""
    store.put("t1", ("user", "a"))
    before = store.trace()
    assert store.host.stored_thread(not_id) is None
    assert store.host.read_stored_thread(not_id) is None
    assert store.host.stored_thread_directory(not_id) is None
    with pytest.raises(SessionUnreadable):
        store.host.create_session(not_id, never)
    assert store.trace() == before
    assert store.built() == 0


def test_looking_writes_nothing(store: Store) -> None:
    """Listing, reading, opening live and closing again leave everything as it was."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    store.put("t2", ("user", "And?"))
    before = store.trace()
    for row in store.host.list_sessions():
        assert store.host.read_stored_thread(row.id) is not None
        assert store.host.stored_thread_directory(row.id) == store.project
        thread = store.host.create_session(row.id, never)
        assert len(thread.inspect().entries) > 0
        thread.close()
    assert store.trace() == before


# -- coming live ----------------------------------------------------------------------------------


def test_an_unknown_id_is_created_under_that_id(store: Store) -> None:
    """A thread without a log is created under the id that was asked for, where asked."""
    thread_id = new_thread_id()
    thread = store.host.create_session(thread_id, lambda: store.project)
    inspection = thread.inspect()
    assert (inspection.session_id, inspection.cwd) == (thread_id, store.project)
    assert inspection.entries == ()
    assert inspection.session_file is None


def test_a_created_thread_is_stored_with_its_first_answer(store: Store) -> None:
    """Nothing is stored before an answer begins; then prompt and answer are, under the same id."""
    thread_id = new_thread_id()
    reply = Reply.held("Hello.", before="message")
    store.script.add(reply)
    run = Run(store.host.create_session(thread_id, lambda: store.project))
    run.thread.runtime.prompt("Hi")
    reply.wait_until_held()
    assert store.host.list_sessions() == []
    assert run.thread.inspect().session_file is None
    reply.release()
    run.until_settled()
    (row,) = store.host.list_sessions()
    assert (row.id, row.first_message, row.end) == (thread_id, "Hi", "complete")
    assert run.thread.inspect().session_file is not None
    read = store.host.read_stored_thread(thread_id)
    assert read is not None
    assert texts(read.entries) == ["Hi", "Hello."]


def test_a_thread_that_dies_mid_answer_keeps_its_prompt(store: Store) -> None:
    """Once the answer has begun, the prompt is stored: what remains is an unanswered prompt."""
    thread_id = new_thread_id()
    reply = Reply.held("Hel")
    store.script.add(reply)
    run = Run(store.host.create_session(thread_id, lambda: store.project))
    run.thread.runtime.prompt("Hi")
    reply.wait_until_held()
    (row,) = store.host.list_sessions()
    assert (row.id, row.message_count, row.end) == (thread_id, 1, "interrupted")
    reply.release()
    run.until_settled()


def test_a_stored_thread_is_opened_in_the_directory_it_records(store: Store) -> None:
    """Opening asks for no directory and holds the stored branch."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."), name="Greeting")
    inspection = store.host.create_session("t1", never).inspect()
    assert texts(inspection.entries) == ["Hi", "Hello."]
    assert (inspection.cwd, inspection.name) == (store.project, "Greeting")
    assert inspection.session_file is not None


def test_a_prompt_continues_the_stored_branch(store: Store) -> None:
    """A resumed thread grows at its leaf, and reads back whole."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    store.script.add(Reply(deltas=("Good", "bye.")))
    Run(store.host.create_session("t1", never)).prompt("Leave")
    read = store.host.read_stored_thread("t1")
    assert read is not None
    assert texts(read.entries) == ["Hi", "Hello.", "Leave", "Goodbye."]
    row = store.host.stored_thread("t1")
    assert row is not None
    assert row.message_count == 4


def test_a_new_thread_in_a_directory_that_is_not_served_is_refused(
    store: Store, tmp_path: Path
) -> None:
    """The refusal names the directory; nothing is built and nothing written."""
    before = store.trace()
    with pytest.raises(SessionDirectoryRefused, match="other") as refused:
        store.host.create_session(new_thread_id(), lambda: tmp_path / "other")
    assert refused.value.status == 409
    assert refused.value.directory == tmp_path / "other"
    assert (store.trace(), store.built()) == (before, 0)


def test_a_stored_thread_of_another_directory_is_refused(store: Store, tmp_path: Path) -> None:
    """A log in a directory that is not served is not reopened, and no new one is made."""
    store.put("t1", ("user", "a"), directory=tmp_path / "other")
    before = store.trace()
    with pytest.raises(SessionDirectoryRefused, match="other"):
        store.host.create_session("t1", never)
    assert (store.trace(), store.built()) == (before, 0)


def test_a_thread_whose_project_is_gone_reads_cold_and_refuses_live(store: Store) -> None:
    """A renamed project directory keeps its threads readable and says why they do not go on."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    store.take_project_away()
    assert [row.id for row in store.host.list_sessions()] == ["t1"]
    assert store.host.read_stored_thread("t1") is not None
    with pytest.raises(SessionDirectoryRefused, match="gone"):
        store.host.create_session("t1", never)
    assert store.built() == 0


# -- what a live thread tells ---------------------------------------------------------------------


def test_a_run_is_told_in_order(store: Store) -> None:
    """Prompt, message, parts with their deltas, stored message, end: in that order."""
    store.script.add(Reply(thinking=("Hm", "m."), deltas=("Hel", "lo.")))
    events = Run(store.host.create_session(new_thread_id(), lambda: store.project)).prompt("Hi")
    prompt, started, *streamed, stored, settled = events
    assert isinstance(prompt, EntryStored)
    assert texts([prompt.entry]) == ["Hi"]
    assert isinstance(started, MessageStarted)
    message_id = started.message_id
    assert streamed == [
        PartStarted(message_id, 0, ThinkingPart("")),
        PartDelta(message_id, 0, "Hm"),
        PartDelta(message_id, 0, "m."),
        PartStarted(message_id, 1, TextPart("")),
        PartDelta(message_id, 1, "Hel"),
        PartDelta(message_id, 1, "lo."),
    ]
    assert isinstance(stored, EntryStored)
    assert isinstance(stored.entry, TranscriptMessage)
    assert (stored.entry.id, stored.entry.stop_reason) == (message_id, "stop")
    assert stored.entry.parts == (ThinkingPart("Hmm."), TextPart("Hello."))
    assert settled == RunSettled("complete")


def test_what_was_told_is_what_is_stored(store: Store) -> None:
    """The entries that a run tells of are the entries that are read back, ids and all."""
    thread_id = new_thread_id()
    run = Run(store.host.create_session(thread_id, lambda: store.project))
    events = run.prompt("Hi") + run.prompt("And again")
    told = tuple(event.entry for event in events if isinstance(event, EntryStored))
    read = store.host.read_stored_thread(thread_id)
    assert read is not None
    assert read.entries == told == run.thread.inspect().entries
    assert len({entry.id for entry in told}) == 4


def test_emitted_events_are_a_fresh_copy_of_the_last_run(store: Store) -> None:
    """Each call gives its own list, and a new run begins it anew."""
    run = Run(store.host.create_session(new_thread_id(), lambda: store.project))
    assert run.thread.emitted_events() == []
    first = run.prompt("Hi")
    assert run.thread.emitted_events() == first
    run.thread.emitted_events().clear()
    assert run.thread.emitted_events() == first
    second = run.prompt("Again")
    assert run.thread.emitted_events() == second


def test_a_refused_attempt_is_stored_as_one(store: Store) -> None:
    """A provider's refusal ends the run and stays in the thread."""
    refusal = Refusal(
        provider="Scripted",
        model="script-1",
        refusal_class="rate limit",
        status=429,
        reason="Too many requests",
    )
    store.script.add(Reply(deltas=(), refusal=refusal))
    thread_id = new_thread_id()
    events = Run(store.host.create_session(thread_id, lambda: store.project)).prompt("Hi")
    assert events[-1] == RunSettled("refused", refusal)
    read = store.host.read_stored_thread(thread_id)
    assert read is not None
    attempt = read.entries[-1]
    assert isinstance(attempt, TranscriptMessage)
    assert (attempt.stop_reason, attempt.refusal) == ("error", refusal)
    row = store.host.stored_thread(thread_id)
    assert row is not None
    assert row.end == "refused"


def test_a_second_prompt_while_busy_is_refused(store: Store) -> None:
    """One run at a time: the second prompt is refused in words and changes nothing."""
    reply = Reply.held("Hello.")
    store.script.add(reply)
    run = Run(store.host.create_session(new_thread_id(), lambda: store.project))
    run.thread.runtime.prompt("Hi")
    reply.wait_until_held()
    kept = run.thread.emitted_events()
    with pytest.raises(PromptRefused) as refused:
        run.thread.runtime.prompt("And?")
    assert refused.value.code == "busy"
    assert run.thread.emitted_events() == kept
    reply.release()
    run.until_settled()
    assert texts(run.thread.inspect().entries) == ["Hi", "Hello."]


def test_an_abort_keeps_what_had_streamed(store: Store) -> None:
    """An aborted run settles as aborted, and its half answer is stored as one."""
    reply = Reply.held("Hel")
    store.script.add(reply)
    thread_id = new_thread_id()
    run = Run(store.host.create_session(thread_id, lambda: store.project))
    run.thread.runtime.prompt("Hi")
    reply.wait_until_held()
    run.thread.runtime.abort()
    assert run.until_settled()[-1] == RunSettled("aborted")
    row = store.host.stored_thread(thread_id)
    assert row is not None
    assert row.end == "aborted"


def test_a_closed_thread_tells_nothing_more(store: Store) -> None:
    """Closing ends the run in flight first; afterwards nothing is emitted and no prompt taken."""
    reply = Reply.held("Hel")
    store.script.add(reply)
    run = Run(store.host.create_session(new_thread_id(), lambda: store.project))
    run.thread.runtime.prompt("Hi")
    reply.wait_until_held()
    run.thread.close()
    assert isinstance(run.until_settled()[-1], RunSettled)
    with pytest.raises(PromptRefused):
        run.thread.runtime.prompt("More")
    assert run.events.empty()


def test_an_unanswered_tool_call_is_an_interrupted_thread(store: Store) -> None:
    """A thread that ends with a call without its result says so in its row."""
    call = ToolCallPart("call_1", "bash", {"command": "make"})
    store.script.add(Reply(deltas=("I build.",), tool_call=call))
    thread_id = new_thread_id()
    Run(store.host.create_session(thread_id, lambda: store.project)).prompt("Build")
    row = store.host.stored_thread(thread_id)
    assert row is not None
    assert row.end == "interrupted"


def test_the_spend_is_the_same_live_and_cold(store: Store) -> None:
    """What a thread cost reads the same from the live thread and from the store."""
    thread_id = new_thread_id()
    run = Run(store.host.create_session(thread_id, lambda: store.project))
    run.prompt("Hi")
    run.prompt("Again")
    read = store.host.read_stored_thread(thread_id)
    assert read is not None
    assert read.usage == run.thread.usage()
    assert (read.usage.input, read.usage.output) == (20, 10)


def test_a_state_is_of_the_moment_it_was_taken_at(store: Store) -> None:
    """However late it is made: what a run stored since is not in it."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."), mode="plan", name="Greeting")
    run = Run(store.host.create_session("t1", never))
    thread = run.thread
    before = thread.inspect(), thread.usage(), thread.permission_mode()
    later = thread.state_of_now()
    run.prompt("Go on")
    run.thread.runtime.set_mode("auto")
    state = later()
    assert (state.inspection, state.usage, state.permission_mode) == before
    assert thread.inspect() != before[0]


# -- resting --------------------------------------------------------------------------------------


def test_a_thread_that_rests_answers_as_before_and_goes_on_where_it_was(store: Store) -> None:
    """What its log holds weighs nothing meanwhile; nothing is lost, doubled or moved by it."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."), ("user", "More"), mode="plan")
    run = Run(store.host.create_session("t1", never))
    run.prompt("Go on")
    thread, entries = run.thread, run.thread.inspect().entries
    run.thread.runtime.go_to(entries[2].id)
    before = thread.inspect(), thread.usage(), thread.tree(), thread.permission_mode()
    assert thread.weight
    assert thread.rest()
    assert (thread.weight, thread.emitted_events()) == (0, [])
    assert thread.session_file == before[0].session_file
    assert not thread.changed_elsewhere()
    assert (thread.inspect(), thread.usage(), thread.tree(), thread.permission_mode()) == before
    assert thread.weight
    assert thread.rest()
    run.prompt("Elsewhere")
    assert texts(thread.inspect().entries)[:3] == ["Hi", "Hello.", "Elsewhere"]
    assert len(thread.tree().entries) == len(before[2].entries) + 2


def test_a_thread_that_rests_notices_another_program(store: Store) -> None:
    """Until it is opened anew it shows what was there when it went to rest."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    thread = store.host.create_session("t1", never)
    before = thread.inspect().entries
    assert thread.rest()
    store.append("t1", ("user", "From elsewhere"))
    assert thread.changed_elsewhere()
    assert thread.inspect().entries == before


def test_a_thread_without_a_log_does_not_rest(store: Store) -> None:
    """What is in memory alone is not let go of."""
    thread = store.host.create_session(new_thread_id(), lambda: store.project)
    thread.runtime.set_mode("plan")
    assert not thread.rest()
    assert (thread.weight, thread.session_file) == (0, None)
    assert thread.permission_mode().mode == "plan"


# -- another writer -------------------------------------------------------------------------------


def test_a_live_thread_knows_that_another_program_wrote(store: Store) -> None:
    """Its own writes are no change; those of another program are."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    run = Run(store.host.create_session("t1", never))
    assert not run.thread.changed_elsewhere()
    run.prompt("Go on")
    assert not run.thread.changed_elsewhere()
    store.append("t1", ("user", "From elsewhere"))
    assert run.thread.changed_elsewhere()


def test_reopening_takes_up_what_another_program_wrote(store: Store) -> None:
    """A thread opened again continues from the leaf that the other program left."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    store.host.create_session("t1", never).close()
    store.append("t1", ("user", "From elsewhere"), ("assistant", "Yes."))
    run = Run(store.host.create_session("t1", never))
    run.prompt("Go on")
    read = store.host.read_stored_thread("t1")
    assert read is not None
    assert texts(read.entries)[:5] == ["Hi", "Hello.", "From elsewhere", "Yes.", "Go on"]


def test_changes_are_told(store: Store) -> None:
    """A listener is told the ids of threads that are made, that grow, and that go."""
    told: queue.Queue[frozenset[str]] = queue.Queue()
    end = store.host.on_change(told.put)
    for change in (
        lambda: store.put("t1", ("user", "Hi")),
        lambda: store.append("t1", ("assistant", "Hello.")),
        lambda: store.remove("t1"),
    ):
        change()
        assert "t1" in told.get(timeout=30)
    end()


def test_an_ended_watch_tells_nothing(store: Store) -> None:
    """After its end a listener hears nothing, while others still do."""
    ended: queue.Queue[frozenset[str]] = queue.Queue()
    kept: queue.Queue[frozenset[str]] = queue.Queue()
    end = store.host.on_change(ended.put)
    store.host.on_change(kept.put)
    end()
    store.put("t1", ("user", "Hi"))
    assert "t1" in kept.get(timeout=30)
    assert ended.empty()


# -- modes and models -----------------------------------------------------------------------------


def test_a_thread_without_a_mode_is_in_the_fresh_one(store: Store) -> None:
    """The fresh mode asks, and can be changed to any of four."""
    fresh = store.host.fresh_permission_mode()
    assert (fresh.mode, fresh.agent) == ("ask", None)
    assert [choice.id for choice in fresh.modes] == ["plan", "ask", "edit", "auto"]
    assert store.host.stored_permission_mode(()) == fresh


@pytest.mark.parametrize("mode", ["plan", "auto", "from-the-future"])
def test_a_stored_mode_is_the_threads_mode_live_and_cold(store: Store, mode: str) -> None:
    """The branch's last mode counts, also one that this server does not know."""
    store.put("t1", ("user", "Hi"), mode=mode)
    read = store.host.read_stored_thread("t1")
    assert read is not None
    assert store.host.stored_permission_mode(read.entries).mode == mode
    assert store.host.create_session("t1", never).permission_mode().mode == mode


def test_preparing_for_a_prompt_builds_and_writes_nothing(store: Store) -> None:
    """A page may say that somebody types as often as it likes."""
    store.put("t1", ("user", "Hi"))
    before = store.trace()
    store.host.prepare()
    store.host.prepare()
    assert store.trace() == before
    assert store.built() == 0


def test_readiness_names_the_model_without_building(store: Store) -> None:
    """Which model would answer is known before anything is built."""
    readiness = store.host.readiness()
    assert readiness.model is not None
    assert readiness.model.model == "script-1"
    assert store.built() == 0


def test_a_provider_is_called_by_its_display_name(store: Store) -> None:
    """A known provider by its name, an unknown one by its id."""
    assert store.host.provider_name("scripted") == "Scripted"
    assert store.host.provider_name("nobody") == "nobody"


def test_a_report_builds_and_writes_nothing(store: Store) -> None:
    """What is configured can be told of a store in any state, and leaves it as it was."""
    store.put("t1", ("user", "Hi"), ("assistant", "Hello."))
    before = store.trace()
    report = store.host.report()
    assert all(check.said for check in report.checks)
    assert "secrets" not in repr(report)
    assert store.trace() == before
    assert store.built() == 0
