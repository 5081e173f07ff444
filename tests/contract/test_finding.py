"""Finding passages of stored threads: one suite over every host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.stores import Store


def found(store: Store, query: str, limit: int = 20) -> list[tuple[str, str]]:
    """The thread and the matched words of every passage."""
    return [(one.thread_id, one.match) for one in store.host.find_passages(query, limit).passages]


def test_a_passage_says_where_it_is_and_what_stands_around_it(store: Store) -> None:
    """The words before and behind the match, the entry that holds them, and who said it."""
    store.put("t1", ("user", "Where is the invoice total computed?"), ("assistant", "In orders."))
    answer = store.host.find_passages("invoice", 5)
    (passage,) = answer.passages
    assert (passage.before, passage.match) == ("Where is the ", "invoice")
    assert passage.after.startswith(" total computed?")
    assert passage.said_by == "user"
    assert (answer.searched, answer.threads) == (1, 1)
    read = store.host.read_stored_thread("t1")
    assert read is not None
    assert passage.entry_id == read.entries[0].id


@pytest.mark.parametrize(
    "query, match",
    [
        ("tot", "total"),
        ("PRICE", "price"),
        ("price sum", "Sum"),
        ('"total price"', "total_price"),
        ('"sum total"', "Sum total"),
        ("otal", None),
        ("to", None),
        ("of", "of"),
        ("total missing", None),
        ("cafe", "Café"),
        ('"price total"', None),
        ("größ", "Größe"),
        ("", None),
        ("  ", None),
        ('"', None),
        ("() AND *", None),
        ("NEAR(total)", None),
    ],
)
def test_words_are_found_by_their_beginnings(store: Store, query: str, match: str | None) -> None:
    """All words of a query are in the entry; case and accents do not matter; nothing is syntax."""
    store.put("t1", ("user", "Sum total_price of Café Größe"), ("assistant", "Yes."))
    assert [words for _, words in found(store, query)] == ([match] if match else [])


def test_the_newest_come_first_and_few_of_one_thread(store: Store) -> None:
    """A thread gives three passages at most; the limit counts threads."""
    store.put("old", *[("user", f"apple {n}") for n in range(5)], minute=0)
    store.put("new", ("user", "apple pie"), minute=10)
    store.put("other", ("user", "pear"), minute=20)
    assert [thread for thread, _ in found(store, "apple")] == ["new", "old", "old", "old"]
    assert [thread for thread, _ in found(store, "apple", limit=1)] == ["new"]


def test_what_was_said_a_moment_ago_is_found_and_what_is_gone_is_not(store: Store) -> None:
    """The next question sees what was stored before it."""
    store.put("t1", ("user", "First words"))
    assert found(store, "second") == []
    store.append("t1", ("assistant", "Second words"))
    assert found(store, "second") == [("t1", "Second")]
    store.remove("t1")
    assert found(store, "second") == []


def test_threads_that_are_not_served_are_not_found(store: Store, tmp_path: Path) -> None:
    """A thread that the rail does not list is not searched."""
    store.put("t1", ("user", "Hidden words"), directory=tmp_path / "elsewhere")
    assert found(store, "hidden") == []


def test_finding_writes_nothing_into_the_store(store: Store) -> None:
    """Neither the threads nor their directories change."""
    store.put("t1", ("user", "Some words"))
    before = store.trace()
    assert found(store, "some") == [("t1", "Some")]
    assert store.trace() == before
    assert store.built() == 0
