"""The pump: events in order, text gathered, everything else at once."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from enso import transcript
from enso.host.contract import (
    MessageStarted,
    PartDelta,
    PartStarted,
    RunSettled,
    ThreadEvent,
)
from enso.server.pump import FEW, INTERVAL, SLOWEST, Pace, Pump, merged

STARTED = MessageStarted("m", "p", "model", 0)


def delta(text: str, index: int = 0) -> PartDelta:
    """Some text of the streaming message."""
    return PartDelta("m", index, text)


def test_neighbouring_text_is_joined_and_nothing_changes_its_order() -> None:
    """Deltas of one part that follow one another become one; other events keep them apart."""
    part = PartStarted("m", 1, transcript.TextPart(""))
    events: list[ThreadEvent] = [STARTED, delta("a"), delta("b"), part, delta("c", 1), delta("d")]
    assert merged(events) == [STARTED, delta("ab"), part, delta("c", 1), delta("d")]


class CountedText(str):
    """Text that takes down how many characters each addition to it copies."""

    copied = 0

    def __add__(self, more: str) -> CountedText:
        CountedText.copied += len(self) + len(more)
        return CountedText(str(self) + more)


def test_joining_copies_no_text_again_and_again() -> None:
    """The deltas of a batch are joined at a cost of their length, not of its square."""
    CountedText.copied = 0
    (joined,) = merged([delta(CountedText("word ")) for _ in range(2000)])
    assert isinstance(joined, PartDelta)
    assert joined.text == "word " * 2000
    assert CountedText.copied <= len(joined.text)


def test_a_burst_of_words_becomes_few_batches_and_loses_none() -> None:
    """A thousand words offered at once are handed on in a few batches, whole, settlement last."""
    batches: queue.SimpleQueue[Sequence[ThreadEvent]] = queue.SimpleQueue()
    pump = Pump(batches.put, Pace(0.02))
    pump.start(name="test-pump")
    for number in range(1000):
        pump.offer(delta(f"{number} "))
    pump.offer(RunSettled("complete"))
    taken: list[Sequence[ThreadEvent]] = []
    while not taken or not isinstance(taken[-1][-1], RunSettled):
        taken.append(batches.get(timeout=5))
    events = [event for batch in taken for event in batch]
    text = "".join(event.text for event in events if isinstance(event, PartDelta))
    assert text == "".join(f"{number} " for number in range(1000))
    assert len(taken) < 100


def test_the_first_word_is_not_held_back() -> None:
    """With a long interval the first text still goes out at once: only what follows is gathered."""
    heard = threading.Event()
    pump = Pump(lambda _events: heard.set(), Pace(60))
    pump.start(name="test-pump")
    began = time.monotonic()
    pump.offer(delta("now"))
    assert heard.wait(5)
    assert time.monotonic() - began < 5
    pump.offer(RunSettled("complete"))


def test_what_is_no_text_ends_the_gathering() -> None:
    """A settlement behind gathered text goes out with it, without waiting for the interval."""
    done = threading.Event()

    def take(events: Sequence[ThreadEvent]) -> None:
        if isinstance(events[-1], RunSettled):
            done.set()

    pump = Pump(take, Pace(60))
    pump.start(name="test-pump")
    for event in (delta("a"), delta("b"), delta("c"), RunSettled("complete")):
        pump.offer(event)
    assert done.wait(5)


def test_a_batch_that_fails_does_not_stop_the_run() -> None:
    """A fault while one batch is taken in is logged, and the settlement still arrives."""
    done = threading.Event()

    def take(events: Sequence[ThreadEvent]) -> None:
        if isinstance(events[-1], RunSettled):
            done.set()
        raise RuntimeError("a fault in the test's own listener")

    pump = Pump(take, Pace(0))
    pump.start(name="test-pump")
    pump.offer(STARTED)
    pump.offer(RunSettled("failed"))
    assert done.wait(5)


def test_many_runs_at_once_hand_on_less_often_and_a_few_do_not() -> None:
    """The work of all pumps together stops growing with their number; the pace comes back."""
    pace = Pace()
    with ExitStack() as running:
        for _ in range(FEW):
            running.enter_context(pace.one_more())
        assert pace.interval == INTERVAL
        for _ in range(FEW):
            running.enter_context(pace.one_more())
        assert pace.interval == 2 * INTERVAL
        for _ in range(100 * FEW):
            running.enter_context(pace.one_more())
        assert pace.interval == SLOWEST * INTERVAL
    assert pace.interval == INTERVAL


def test_a_run_counts_from_its_start_to_its_settlement() -> None:
    """A pump that is over is counted no more, also when what it hands on to fails."""
    ended = threading.Event()

    class Counted(Pace):
        counts: ClassVar[list[int]] = []

        @contextmanager
        def one_more(self) -> Generator[None]:
            self.counts.append(1)
            with super().one_more():
                yield
            self.counts.append(-1)
            ended.set()

    def fail(events: Sequence[ThreadEvent]) -> None:
        raise ValueError(events)

    pump = Pump(fail, Counted())
    pump.start(name="test-pump")
    pump.offer(RunSettled("complete"))
    assert ended.wait(20)
    assert Counted.counts == [1, -1]
