"""Follows: a snapshot first, then every frame once, in bounded memory."""

from __future__ import annotations

import threading

import pytest

from enso import wire
from enso.server.follow import Aside, Closed, Follow, Follows, News, Outgoing


class Counter:
    """A thread's state for these tests: how many frames there were, read under the lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.follows = Follows()
        self.count = 0

    def follow(self, **options: int) -> Follow:
        """A follow whose snapshot says the count."""
        follow = Follow(lock=self.lock, snapshot=self.snapshot, dialect="json", **options)
        with self.lock:
            self.follows.join(follow)
        return follow

    def snapshot(self, _follow: Follow) -> Outgoing:
        """The count as a notice."""
        return notice(f"snapshot {self.count}")

    def step(self) -> None:
        """One change: the count grows and a frame says so."""
        with self.lock:
            self.count += 1
            self.follows.publish([notice(str(self.count))])


def notice(text: str) -> Outgoing:
    """A frame that is told apart by its text."""
    return Outgoing(wire.NoticeFrame(message=text), f"<hx-partial>{text}</hx-partial>")


def said(text: str | Closed | None) -> str:
    """The text of a notice frame."""
    assert isinstance(text, str)
    return wire.NoticeFrame.model_validate_json(text).message


def test_a_follow_begins_with_a_snapshot_and_goes_on_with_frames() -> None:
    """What was before is in the snapshot alone, what comes after is in frames alone."""
    counter = Counter()
    counter.step()
    follow = counter.follow()
    counter.step()
    assert said(follow.next(1)) == "snapshot 2"
    counter.step()
    assert said(follow.next(1)) == "3"
    assert follow.next(0) is None


def test_no_frame_is_lost_or_doubled_between_snapshot_and_frames() -> None:
    """Under a writer that never pauses, what a follow hears is one unbroken count."""
    counter = Counter()
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            counter.step()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            follow = counter.follow()
            first = int(said(follow.next(5)).removeprefix("snapshot "))
            heard = [said(follow.next(5)) for _ in range(30)]
            for text in heard:
                if text.startswith("snapshot "):
                    first = int(text.removeprefix("snapshot "))
                else:
                    assert int(text) == first + 1
                    first += 1
            with counter.lock:
                counter.follows.leave(follow)
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("options", [{"max_frames": 10}, {"max_characters": 500}])
def test_a_slow_reader_gets_a_new_snapshot_instead_of_a_pile(options: dict[str, int]) -> None:
    """Past a number of frames or characters, what waits is thrown away for a snapshot."""
    counter = Counter()
    follow = counter.follow(**options)
    assert said(follow.next(1)) == "snapshot 0"
    for _ in range(1000):
        counter.step()
    assert said(follow.next(1)) == "snapshot 1000"
    assert follow.next(0) is None
    counter.step()
    assert said(follow.next(1)) == "1001"


def test_a_restart_says_the_state_anew() -> None:
    """After a change as a whole, every follow's next text is a snapshot."""
    counter = Counter()
    follow = counter.follow()
    follow.next(1)
    counter.step()
    with counter.lock:
        counter.follows.restart()
    assert said(follow.next(1)) == "snapshot 1"
    assert follow.next(0) is None


def row(thread_id: str, title: str) -> wire.StoredThread:
    """A row of the rail."""
    return wire.StoredThread(
        thread_id=thread_id,
        project_id="p",
        title=title,
        last_activity_at="2026-11-30T12:00:00.000Z",
        message_count=1,
        busy=False,
    )


def news(*rows: wire.StoredThread, gone: tuple[str, ...] = ()) -> News:
    """News of the rail."""
    return News(
        wire.RailFrame(threads=list(rows), gone=list(gone)), "<hx-partial>news</hx-partial>"
    )


def told(text: str | Closed | None) -> wire.RailFrame:
    """A frame that tells of the rail."""
    assert isinstance(text, str)
    return wire.RailFrame.model_validate_json(text)


def test_news_of_the_rail_outlive_the_frames_that_a_snapshot_says() -> None:
    """Told before the first snapshot, or while a reader is far behind, they come after it."""
    counter = Counter()
    follow = counter.follow(max_frames=2)
    follow.tell(news(row("a", "one")))
    counter.step()
    assert said(follow.next(1)) == "snapshot 1"
    assert told(follow.next(1)).threads == [row("a", "one")]
    follow.tell(news(row("b", "two")))
    for _ in range(3):
        counter.step()
    assert said(follow.next(1)) == "snapshot 4"
    assert told(follow.next(1)).threads == [row("b", "two")]
    assert follow.next(0) is None


def test_an_aside_outlives_the_snapshot_that_does_not_say_it() -> None:
    """The newest one comes right behind it; other frames are what the snapshot says."""
    counter = Counter()
    follow = counter.follow()
    for text in ("first", "second"):
        follow.put(Aside(wire.NoticeFrame(message=text), text))
        counter.step()
    assert said(follow.next(1)) == "snapshot 2"
    assert said(follow.next(1)) == "second"
    assert follow.next(0) is None


def test_an_aside_that_waits_outlives_a_restart() -> None:
    """What waited is said by the new snapshot, but for the newest notice: that comes behind it."""
    counter = Counter()
    follow = counter.follow()
    follow.next(1)
    for text in ("first", "second"):
        follow.put(Aside(wire.NoticeFrame(message=text), text))
        counter.step()
    follow.restart()
    follow.restart()
    assert said(follow.next(1)) == "snapshot 2"
    assert said(follow.next(1)) == "second"
    assert follow.next(0) is None


def test_news_that_wait_become_one_with_the_newest_of_each_thread() -> None:
    """However often the rail is told of, one frame waits, and it is true."""
    follow = Counter().follow()
    follow.tell(news(row("a", "old"), row("b", "kept"), gone=("c", "d")))
    follow.tell(news(row("c", "back"), gone=("e",)))
    follow.tell(news(row("a", "new"), gone=("e",)))
    follow.next(1)
    frame = told(follow.next(1))
    assert frame.threads == [row("b", "kept"), row("c", "back"), row("a", "new")]
    assert frame.gone == ["d", "e"]
    assert follow.next(0) is None


def test_a_closed_follow_says_why_and_nothing_else() -> None:
    """Closing goes before all that waits, and wakes a writer that sleeps."""
    counter = Counter()
    follow = counter.follow()
    follow.next(1)
    heard: list[str | Closed | None] = []
    writer = threading.Thread(target=lambda: heard.append(follow.next(30)))
    writer.start()
    with counter.lock:
        counter.follows.close(Closed(1012, "bye"))
    writer.join(5)
    assert heard == [Closed(1012, "bye")]
    counter.step()
    assert follow.next(0) == Closed(1012, "bye")


def test_a_frame_that_says_nothing_in_a_dialect_is_not_sent() -> None:
    """A frame without HTML does not wake an HTML follow."""
    lock = threading.RLock()
    follow = Follow(lock=lock, snapshot=lambda _: notice("all"), dialect="html")
    assert follow.next(1) == "<hx-partial>all</hx-partial>"
    follow.put(Outgoing(wire.HeartbeatFrame(at="now"), None))
    assert follow.next(0) is None
