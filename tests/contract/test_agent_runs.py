"""What every store and runtime behind the contract guarantee of an agent's runs and of threads.

Runs are scripted (``tests.fakes.scripted_runtime``), so this holds for whoever tests against them;
and for the real pi, which the same script drives. What a program cannot do is in ``Store.facts``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import (
    ActivityChanged,
    DialogAnswer,
    DialogClosed,
    DialogOpened,
    EntryStored,
    HostError,
    MessageStarted,
    PromptRefused,
    QueueChanged,
    RunNotice,
    RunSettled,
    SessionNotWritten,
    SessionUnreadable,
    ThreadNotStored,
    ThreadTree,
    ThreadTreeEntry,
    ToolProgress,
)
from enso.thread_ids import new_thread_id
from enso.transcript import (
    Refusal,
    TextPart,
    ToolCallPart,
    TranscriptCustom,
    TranscriptLabel,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptModelChange,
    TranscriptToolResult,
)
from tests.contract.pi_store import OldPiStore, PiStore
from tests.contract.stores import FakeStore, FileStore, Store
from tests.contract.test_agent_host import Run, never, texts
from tests.fakes.scripted_runtime import MODE_IDS, Reply, permission
from tests.npm_packages import INSTALL_SECONDS

CALL = ToolCallPart("call_1", "bash", {"command": "make"})
"""A call that a guard asks about."""

LOOK = ToolCallPart("call_1", "read", {"path": "orders.txt"})
"""One that no mode asks about."""

REFUSAL = Refusal(
    provider="Scripted", model="script-1", refusal_class="overloaded", status=503, reason="Busy."
)


pytestmark = pytest.mark.timeout(INSTALL_SECONDS + 120)
"""The first test over pi may have to wait until it is installed."""


@pytest.fixture(
    params=[FileStore, FakeStore, PiStore, OldPiStore], ids=["files", "fake", "pi", "old-pi"]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with nothing in it."""
    made: Store = request.param(tmp_path)
    yield made
    made.close()


@pytest.fixture
def run(store: Store) -> Iterator[Run]:
    """A new thread, live."""
    made = Run(store.host.create_session("t1", lambda: store.project))
    yield made
    made.thread.close()


def kinds(events: Any, *which: type) -> list[Any]:
    """The events of these kinds."""
    return [event for event in events if isinstance(event, which)]


def stored(store: Store, thread_id: str = "t1") -> tuple[Any, ...]:
    """The thread as it reads cold."""
    read = store.host.read_stored_thread(thread_id)
    assert read is not None
    return read.entries


def said(entries: Any) -> list[TranscriptMessage]:
    """What was said, by either side: a program may store more than that."""
    return [entry for entry in entries if isinstance(entry, TranscriptMessage)]


def spoken(tree: ThreadTree) -> list[ThreadTreeEntry]:
    """The conversation in a tree."""
    return [one for one in tree.entries if one.kind in ("user", "assistant", "tool-result")]


# -- tools and dialogs ----------------------------------------------------------------------------


def test_a_call_runs_and_the_run_goes_on(store: Store, run: Run) -> None:
    """Progress while it runs, its result, then the next answer, in one run."""
    store.script.add(Reply(tool_call=LOOK, progress=("1", "1 2"), result="done"), Reply())
    events = run.prompt("Build")
    assert kinds(events, ToolProgress) == [
        ToolProgress("call_1", "1"),
        ToolProgress("call_1", "1 2"),
    ]
    (result,) = [e for e in stored(store) if isinstance(e, TranscriptToolResult)]
    assert (result.tool_call_id, result.is_error) == ("call_1", False)
    assert kinds(events, RunSettled) == [RunSettled("complete")]
    assert run.thread.runtime.activity() is None


def test_a_dialog_holds_the_run_until_it_is_answered(store: Store, run: Run) -> None:
    """It is listed meanwhile; the first answer wins."""
    store.script.add(Reply(tool_call=CALL, dialog=permission(CALL), result="done"), Reply())
    runtime = run.thread.runtime
    runtime.prompt("Build")
    dialog = wait_for(run, DialogOpened).dialog
    assert runtime.dialogs() == (dialog,)
    activity = runtime.activity()
    assert activity is not None
    assert activity.kind == "needs-you"
    assert not runtime.answer("another", DialogAnswer(value="once"))
    with pytest.raises(PromptRefused):
        runtime.answer(dialog.id, DialogAnswer(value="maybe"))
    assert runtime.answer(dialog.id, DialogAnswer(value="once"))
    assert not runtime.answer(dialog.id, DialogAnswer(value="deny"))
    events = run.until_settled()
    assert kinds(events, DialogClosed) == [DialogClosed(dialog.id, "once")]
    assert runtime.dialogs() == ()


def wait_for(run: Run, kind: type) -> Any:
    """The next event of a kind; what comes before it is passed over."""
    while not isinstance(event := run.events.get(timeout=30), kind):
        pass
    return event


def test_a_denial_is_the_result_with_its_reason(store: Store, run: Run) -> None:
    """The model is told, and the run goes on."""
    store.script.add(Reply(tool_call=CALL, dialog=permission(CALL), result="done"), Reply())
    run.thread.runtime.prompt("Build")
    dialog = wait_for(run, DialogOpened).dialog
    run.thread.runtime.answer(dialog.id, DialogAnswer(value="deny", reason="Not now"))
    assert run.until_settled()[-1] == RunSettled("complete")
    (result,) = [e for e in stored(store) if isinstance(e, TranscriptToolResult)]
    assert result.is_error
    assert "Not now" in str(result.parts)


def test_a_stop_ends_a_dialog(store: Store, run: Run) -> None:
    """Nobody answered: it is told as stopped."""
    store.script.add(Reply(tool_call=CALL, dialog=permission(CALL), result="done"))
    run.thread.runtime.prompt("Build")
    dialog = wait_for(run, DialogOpened).dialog
    run.thread.runtime.abort()
    events = run.until_settled()
    assert kinds(events, DialogClosed) == [DialogClosed(dialog.id, "stopped")]
    assert events[-1] == RunSettled("aborted")
    assert not run.thread.runtime.answer(dialog.id, DialogAnswer(value="once"))


# -- queue, stop, retry, compaction ---------------------------------------------------------------


def test_what_steers_comes_before_what_comes_after(store: Store, run: Run) -> None:
    """Behind the tool's result, in one run."""
    held = Reply.held(tool_call=LOOK, result="done", before="result")
    store.script.add(held, Reply(deltas=("A",)), Reply(deltas=("B",)))
    runtime = run.thread.runtime
    runtime.prompt("Build")
    held.wait_until_held()
    runtime.queue("After", when="after")
    runtime.queue("Steer", when="steer")
    assert [item.message for item in runtime.queued()] == ["Steer", "After"]
    held.release()
    events = run.until_settled()
    assert kinds(events, QueueChanged)[-1] == QueueChanged(())
    assert texts(stored(store)) == ["Build", "Hello", "Steer", "A", "After", "B"]


def test_a_queued_message_can_be_taken_back(store: Store, run: Run) -> None:
    """Once, and it is not said; where that cannot be, it is said."""
    held = Reply.held("Hello")
    store.script.add(held)
    runtime = run.thread.runtime
    runtime.prompt("Hi")
    held.wait_until_held()
    item = runtime.queue("Never mind", when="after")
    taken = runtime.take_back(item)
    if store.facts.takes_back:
        assert taken is not None
        assert (taken.id, taken.message, taken.when) == (item, "Never mind", "after")
        assert runtime.take_back(item) is None
    else:
        assert taken is None
    held.release()
    run.until_settled()
    left = [] if store.facts.takes_back else ["Never mind", "Hello, you."]
    assert texts(stored(store)) == ["Hi", "Hello", *left]


def test_nothing_is_queued_without_a_run(run: Run) -> None:
    """The refusal has a code of its own."""
    with pytest.raises(PromptRefused) as refusal:
        run.thread.runtime.queue("Hi", when="steer")
    assert refusal.value.code == "not-busy"


def test_a_stop_clears_the_queue_first_and_says_that_it_stops(store: Store, run: Run) -> None:
    """Until it is settled."""
    held = Reply.held("Hello")
    store.script.add(held)
    run.thread.runtime.prompt("Hi")
    held.wait_until_held()
    run.thread.runtime.queue("More", when="after")
    assert [item.message for item in run.thread.runtime.abort()] == ["More"]
    events = run.until_settled()
    told = [e for e in events if isinstance(e, (QueueChanged, ActivityChanged, RunSettled))]
    assert [type(event) for event in told[-3:]] == [QueueChanged, ActivityChanged, RunSettled]
    assert told[-3] == QueueChanged(())
    assert told[-2].activity.kind == "stopping"


def test_a_stop_returns_what_it_took_out_of_the_queue(store: Store, run: Run) -> None:
    """Each item as it was queued, in the order of delivery, once; it is not said, then or later."""
    held = Reply.held("Hello")
    store.script.add(held)
    runtime = run.thread.runtime
    assert runtime.abort() == ()
    runtime.prompt("Hi")
    held.wait_until_held()
    after = runtime.queue("Same", when="after")
    twin = runtime.queue("Same", when="after")
    steer = runtime.queue("Steer", when="steer")
    left = runtime.abort()
    assert [(one.id, one.message, one.when) for one in left] == [
        (steer, "Steer", "steer"),
        (after, "Same", "after"),
        (twin, "Same", "after"),
    ]
    assert runtime.abort() == ()
    assert run.until_settled()[-1] == RunSettled("aborted")
    store.script.add(Reply(deltas=("Again",)))
    runtime.prompt("Go on")
    run.until_settled()
    said = texts(stored(store))
    assert said[-2:] == ["Go on", "Again"]
    assert not {"Same", "Steer"} & set(said)


@pytest.mark.parametrize("begun", [False, True])
def test_what_was_delivered_as_a_run_is_stopped_is_not_returned(
    store: Store, run: Run, begun: bool
) -> None:
    """Whenever the stop comes, a message is said or returned: never both, never neither.

    ``begun``: the first of them is on its way.
    """
    runtime = run.thread.runtime
    held = Reply.held("Answer")
    store.script.add(held)
    runtime.prompt("Prompt")
    held.wait_until_held()
    words = [f"Queued {one}" for one in range(3)]
    for text in words:
        runtime.queue(text, when="after")
    held.release()
    if begun:
        wait_for(run, MessageStarted)
        wait_for(run, MessageStarted)
    left = [item.message for item in runtime.abort()]
    run.until_settled()
    delivered = [text for text in texts(stored(store)) if text in words]
    assert sorted([*delivered, *left]) == words


def test_a_refused_attempt_is_made_again(store: Store, run: Run) -> None:
    """At once when a person wants it and that can be; the run is one, both attempts are stored."""
    refused = [Reply(refusal=REFUSAL, retried=True)] * store.facts.requests_an_attempt
    store.script.add(*refused, Reply())
    runtime = run.thread.runtime
    assert not runtime.retry_now()
    runtime.prompt("Hi")
    while (activity := wait_for(run, ActivityChanged).activity).kind != "retry-wait":
        pass
    assert activity.can_be_cut_short is store.facts.retries_at_once
    assert runtime.retry_now() is store.facts.retries_at_once
    assert run.until_settled()[-1] == RunSettled("complete")
    answers = [e for e in stored(store) if isinstance(e, TranscriptMessage)][1:]
    assert [answer.stop_reason for answer in answers] == ["error", "stop"]


def test_a_thread_is_summed_up(store: Store, run: Run) -> None:
    """A run like any other, which leaves a marker."""
    run.prompt("Hi")
    run.prompt("And more")
    store.script.add(Reply(deltas=("All ", "of it.")))
    run.thread.runtime.compact()
    assert run.until_settled()[-1] == RunSettled("complete")
    (marker,) = [e for e in stored(store) if isinstance(e, TranscriptMarker)]
    assert (marker.kind, marker.text) == ("compaction", "All of it.")


def test_a_summary_that_fails_is_said(store: Store, run: Run) -> None:
    """And stores nothing."""
    run.prompt("Hi")
    run.prompt("And more")
    before = stored(store)
    store.script.add(Reply(refusal=REFUSAL))
    if store.facts.refuses_a_failed_summary:
        with pytest.raises(PromptRefused, match="Busy"):
            run.thread.runtime.compact()
    else:
        run.thread.runtime.compact()
        events = run.until_settled()
        assert kinds(events, RunNotice)
        assert events[-1] == RunSettled("failed")
    assert run.thread.runtime.activity() is None
    assert stored(store) == before


# -- what a person sets ---------------------------------------------------------------------------


def test_what_is_set_without_an_answer_leaves_no_thread(store: Store, run: Run) -> None:
    """It is told, kept in memory, and stored with the first answer."""
    runtime = run.thread.runtime
    before = store.trace()
    runtime.set_mode("plan")
    runtime.set_model("scripted", "script-2")
    runtime.rename("Orders")
    told = [event.entry for event in kinds(list(run.events.queue), EntryStored)]
    assert len({entry.id for entry in told}) == len(told)
    assert {TranscriptCustom, TranscriptModelChange} <= set(map(type, told))
    assert run.thread.permission_mode().mode == "plan"
    assert run.thread.inspect().name == "Orders"
    assert store.trace() == before or store.facts.is_given_a_file
    run.prompt("Hi")
    row = store.host.stored_thread("t1")
    assert row is not None
    assert row.name == "Orders"
    entries = stored(store)
    assert store.host.stored_permission_mode(entries).mode == "plan"
    assert entries == run.thread.inspect().entries
    assert [e.model for e in entries if isinstance(e, TranscriptMessage)] == ["", "script-2"]


@pytest.mark.parametrize("mode", MODE_IDS)
def test_a_mode_is_an_entry_with_the_one_before(mode: str, store: Store, run: Run) -> None:
    """Of the kind that every program knows."""
    run.thread.runtime.set_mode(mode)
    (entry,) = kinds(run.thread.inspect().entries, TranscriptCustom)
    assert entry.custom_type == "modes"
    assert (entry.data["mode"], entry.data["previous"]) == (mode, "ask")


def test_what_cannot_be_set_is_refused(store: Store, run: Run) -> None:
    """In words, and nothing is told."""
    runtime = run.thread.runtime
    for change in (
        lambda: runtime.set_mode("yolo"),
        lambda: runtime.set_model("scripted", "nope"),
        lambda: runtime.label("nowhere", "x"),
        lambda: runtime.go_to("nowhere"),
        lambda: runtime.compact(),  # noqa: PLW0108 - as the others
    ):
        with pytest.raises(HostError):
            change()
    assert kinds(list(run.events.queue), EntryStored, RunSettled, RunNotice) == []


def test_a_branch_can_be_left_for_another(store: Store, run: Run) -> None:
    """For a prompt: what it answered; for an answer: itself. The next prompt goes on from there."""
    store.script.add(Reply(deltas=("1",)), Reply(deltas=("2",)), Reply(deltas=("3",)))
    run.prompt("One")
    run.prompt("Two")
    second = said(run.thread.inspect().entries)[2]
    before = store.trace()
    run.thread.runtime.go_to(second.id)
    assert texts(run.thread.inspect().entries) == ["One", "1"]
    assert store.trace() == before
    run.prompt("Two, differently")
    assert texts(stored(store)) == ["One", "1", "Two, differently", "3"]
    run.thread.runtime.go_to(None)
    assert said(run.thread.inspect().entries) == []


def test_a_branch_that_was_left_stays_in_the_tree(store: Store, run: Run) -> None:
    """Live and cold the same; it can be gone to again, also by who opens the thread anew."""
    store.script.add(*(Reply(deltas=(text,)) for text in "1234"))
    run.prompt("One")
    run.prompt("Two")
    left = spoken(run.thread.tree())
    second = said(run.thread.inspect().entries)[2]
    run.thread.runtime.go_to(second.id)
    moved = run.thread.tree()
    assert [one.id for one in spoken(moved) if one.on_branch] == [one.id for one in left[:2]]
    assert moved.leaf_id == left[1].id
    run.prompt("Other")
    tree = run.thread.tree()
    assert store.host.read_stored_thread_tree("t1") == tree
    assert [(one.kind, one.text, one.on_branch) for one in spoken(tree)] == [
        ("user", "One", True),
        ("assistant", "1", True),
        ("user", "Two", False),
        ("assistant", "2", False),
        ("user", "Other", True),
        ("assistant", "3", True),
    ]
    above = [one.parent_id for one in spoken(tree)]
    ids = [one.id for one in spoken(tree)]
    assert above[1:] == [ids[0], ids[1], ids[2], ids[1], ids[4]]
    assert above[0] not in ids
    assert tree.leaf_id == ids[5]
    run.thread.close()
    again = Run(store.host.create_session("t1", never))
    again.thread.runtime.go_to(ids[3])
    again.prompt("Three")
    again.thread.close()
    assert texts(stored(store)) == ["One", "1", "Two", "2", "Three", "4"]


def test_a_tree_is_of_stored_threads_alone_and_reading_it_changes_nothing(store: Store) -> None:
    """None of an unknown id, nor of a directory that is not served; nothing is built."""
    store.put("t2", ("user", "Hi"), ("assistant", "Hello."))
    store.put("t3", ("user", "Hi"), directory=store.project.parent / "elsewhere")
    before = store.trace()
    tree = store.host.read_stored_thread_tree("t2")
    assert tree is not None
    assert [(one.kind, one.text) for one in tree.entries] == [
        ("user", "Hi"),
        ("assistant", "Hello."),
    ]
    for thread_id in ("t3", "nobody", "../../x"):
        assert store.host.read_stored_thread_tree(thread_id) is None
    assert (store.trace(), store.built()) == (before, 0)


def test_a_result_in_the_tree_names_its_call(store: Store, run: Run) -> None:
    """What was asked of the tool stands with what it gave."""
    store.script.add(Reply(deltas=(), tool_call=LOOK, result="built"), Reply(deltas=("Done.",)))
    run.prompt("Build it")
    kinds = [(one.kind, one.name, one.call) for one in spoken(run.thread.tree())]
    assert kinds == [
        ("user", "", None),
        ("assistant", "", None),
        ("tool-result", "read", LOOK),
        ("assistant", "", None),
    ]


def test_labels_are_the_whole_threads(store: Store, run: Run) -> None:
    """The last one of an entry holds, also from a branch that was left; the empty one takes it."""
    store.script.add(*(Reply(deltas=(text,)) for text in "12"))
    run.prompt("One")
    first, answer = (one.id for one in said(run.thread.inspect().entries))
    runtime = run.thread.runtime
    runtime.label(first, "start")
    told = wait_for(run, EntryStored)
    assert isinstance(told.entry, TranscriptLabel)
    assert (told.entry.target_id, told.entry.label) == (first, "start")
    runtime.label(answer, "here")
    runtime.label(first, "beginning")
    runtime.go_to(answer)
    runtime.label(answer, "")
    assert run.thread.inspect().labels == {first: "beginning"}
    shown = {one.id: one.label for one in run.thread.tree().entries if one.label}
    assert shown == {first: "beginning"}
    read = store.host.read_stored_thread("t1")
    assert read is not None
    assert read.labels == {first: "beginning"}


def test_what_was_said_comes_back_to_be_said_differently(store: Store, run: Run) -> None:
    """The parts of a prompt, on the branch or not; nothing of an answer or an unknown entry."""
    store.script.add(Reply(deltas=("1",)))
    run.prompt("One\nand more")
    first, answer = (one.id for one in said(run.thread.inspect().entries))
    run.thread.runtime.go_to(None)
    assert run.thread.said(first) == (TextPart("One\nand more"),)
    assert run.thread.said(answer) is None
    assert run.thread.said("nobody") is None


def test_commands_are_the_same_live_and_cold(store: Store, run: Run) -> None:
    """Enso's own among them, and inspection names them."""
    run.prompt("Hi")
    commands = store.host.commands(store.project)
    assert run.thread.runtime.commands() == commands
    assert "compact" in {command.name for command in commands}
    assert run.thread.inspect().commands == tuple(command.name for command in commands)


def test_the_models_that_can_be_chosen_are_listed(store: Store) -> None:
    """With their levels."""
    choices = store.host.models()
    assert [choice.model for choice in choices] == ["script-1", "script-2"]
    assert choices[0].levels


# -- forks and the trash --------------------------------------------------------------------------


def test_a_fork_holds_what_came_before_a_prompt(store: Store, run: Run) -> None:
    """Entries keep their ids; the source stays; the fork goes on by itself."""
    store.script.add(Reply(deltas=("1",)), Reply(deltas=("2",)), Reply(deltas=("3",)))
    run.prompt("One")
    run.prompt("Two")
    source = stored(store)
    second = said(source)[2]
    new_id = new_thread_id()
    fork_id = store.host.fork("t1", second.id, new_id)
    assert (fork_id == new_id) is store.facts.names_forks
    assert stored(store, fork_id) == source[: source.index(second)]
    fork = Run(store.host.create_session(fork_id, never))
    fork.prompt("Two, differently")
    fork.thread.close()
    assert texts(stored(store, fork_id)) == ["One", "1", "Two, differently", "3"]
    assert stored(store) == source


def test_a_whole_thread_can_be_forked(store: Store) -> None:
    """As it is, under another id."""
    store.put("t1", ("user", "One"), ("assistant", "1"), name="Orders")
    fork_id = store.host.fork("t1", None, "t2")
    assert texts(stored(store, fork_id)) == ["One", "1"]
    rows = {row.id for row in store.host.list_sessions()}
    assert rows == {"t1", fork_id}


def test_a_fork_from_the_first_prompt_is_stored_with_its_first_answer(store: Store) -> None:
    """It holds nothing yet: no row, but it can be continued."""
    store.put("t1", ("user", "One"), ("assistant", "1"))
    first = stored(store)[0]
    fork_id = store.host.fork("t1", first.id, "t2")
    assert store.host.stored_thread(fork_id) is None
    assert store.host.empty_fork_directory(fork_id) == store.project
    assert store.host.empty_fork_directory("t1") is None
    fork = Run(store.host.create_session(fork_id, never))
    fork.prompt("Otherwise")
    fork.thread.close()
    assert texts(stored(store, fork_id)) == ["Otherwise", "Hello, you."]


def test_what_cannot_be_forked_is_refused(store: Store) -> None:
    """An unknown thread, an answer, an unknown entry, an id that is taken or none."""
    store.put("t1", ("user", "One"), ("assistant", "1"))
    store.put("t2", ("user", "Another"))
    answer = stored(store)[1].id
    before = store.trace()
    for source, entry, new_id, refusal in (
        ("nowhere", None, "t3", ThreadNotStored),
        ("t1", answer, "t3", PromptRefused),
        ("t1", "ffffffff", "t3", PromptRefused),
        ("t1", None, "t2", SessionNotWritten),
        ("t1", None, "../t3", SessionUnreadable),
    ):
        with pytest.raises(refusal):
            store.host.fork(source, entry, new_id)
    assert store.trace() == before


def test_a_deleted_thread_is_gone_and_comes_back(store: Store) -> None:
    """As it was."""
    store.put("t1", ("user", "One"), ("assistant", "1"), name="Orders")
    before = store.host.stored_thread("t1")
    store.host.delete("t1")
    assert store.host.list_sessions() == []
    assert store.host.read_stored_thread("t1") is None
    with pytest.raises(ThreadNotStored):
        store.host.delete("t1")
    deleted = store.host.deleted_thread("t1")
    assert deleted is not None
    assert (deleted.id, deleted.name, deleted.first_message) == ("t1", "Orders", "One")
    assert store.host.restore("t1")
    assert store.host.stored_thread("t1") == before
    assert store.host.deleted_thread("t1") is None
    assert not store.host.restore("t1")


def test_what_was_never_there_is_not_restored(store: Store) -> None:
    """Nor is what is no id."""
    assert not store.host.restore("t1")
    assert not store.host.restore("../../etc/passwd")
    assert store.host.deleted_thread("t1") is None
    assert store.host.deleted_thread("../../etc/passwd") is None
