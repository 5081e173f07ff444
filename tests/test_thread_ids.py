"""Thread ids: the runtime's own rule, and ids that sort by their creation."""

from __future__ import annotations

import uuid

import pytest

from enso import thread_ids


@pytest.mark.parametrize(
    "text", ["a", "7", "ticket-4711.rev_2", "01a22c47-ce92-776d-a396-d111160fffc6", "A" * 128]
)
def test_what_the_runtime_takes_as_an_id_is_one(text: str) -> None:
    """Letters, digits, dots, dashes, underscores, an alphanumeric at both ends: a thread id."""
    assert thread_ids.is_thread_id(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "-a",
        "a-",
        "../../etc/passwd",
        "a/b",
        "a b",
        "ä",
        "a\n",
        "A" * 129,
        7,
        None,
        [],
    ],
)
def test_what_could_be_a_path_or_no_text_at_all_is_no_id(text: object) -> None:
    """Nothing that could leave a directory or break a line names a thread."""
    assert not thread_ids.is_thread_id(text)


def test_new_ids_are_valid_unlike_and_sort_by_creation() -> None:
    """A fresh id is a version 7 UUID that a thread may have; later milliseconds sort later."""
    ids = [thread_ids.new_thread_id() for _ in range(200)]
    assert len(set(ids)) == 200
    assert all(thread_ids.is_thread_id(one) and uuid.UUID(one).version == 7 for one in ids)
    assert [one[:13] for one in ids] == sorted(one[:13] for one in ids)


def test_a_refused_id_is_quoted_short_and_told_what_one_is() -> None:
    """The sentence names the bad id, cut when it is long, and says what an id has."""
    sentence = thread_ids.refused_id_sentence("x" * 5000)
    assert sentence.startswith("“" + "x" * 57 + "…” cannot be a thread id")
    assert len(sentence) < 250
