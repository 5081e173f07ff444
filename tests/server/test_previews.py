"""What a call would do, for who is asked: everything it says is seen, and as it is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import wire
from enso.server.diff_lines import DiffLine, edit_lines
from enso.server.previews import MAX_SHOWN, Preview, preview
from enso.server.unseen import visible

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
FIELDS = st.sampled_from(["command", "path", "content", "edits", "timeout", "pattern", "glob", "x"])
NAMES = ("bash", "edit", "write", "read", "grep", "find", "ls", "frobnicate", "")


def asked(name: str, arguments: Any) -> Preview:
    """The preview of a call."""
    return preview(wire.DialogTool(name=name, arguments=arguments))


def shown(look: Preview) -> str:
    """Everything that is drawn of a preview."""
    notes = " ".join(note.text for note in look.notes)
    text = look.text.text if look.text else ""
    return "\n".join([look.name, look.subject, notes, *(line.text for line in look.diff), text])


def test_a_command_says_where_it_would_run() -> None:
    """The directory is named, and no character of its name hides; other tools name their path."""
    tool = wire.DialogTool(name="bash", arguments={"command": "make", "timeout": 5})
    told = [note.text for note in preview(tool, "/home/dev/\u202eshop").notes]
    assert told == ["in /home/dev/⟨U+202E⟩shop", "at most 5 s"]
    write = wire.DialogTool(name="write", arguments={"path": "a", "content": "x"})
    assert [note.text for note in preview(write, "/home").notes] == ["1 line"]


def test_a_command_is_shown_whole_whatever_its_length() -> None:
    """Neither many lines nor a long one are cut, and the lines are counted."""
    command = "\n".join(["true"] * 900 + ["x" * 5000, "rm -rf /"])
    look = asked("bash", {"command": command})
    assert look.text is not None
    assert look.text.text == command
    assert [note.text for note in look.notes] == ["902 lines"]
    assert look.subject == ""


def test_what_is_too_much_to_show_is_said() -> None:
    """Beyond the bound a person is told that there is more, with its size."""
    look = asked("bash", {"command": "x" * (MAX_SHOWN + 7)})
    assert look.text is not None
    assert look.text.characters_left_out == 7
    lines = "\n".join("y" * 99 for _ in range(4000))
    look = asked("edit", {"path": "a", "edits": [{"oldText": "x", "newText": lines}]})
    assert look.diff_left_out > 0
    assert len(look.diff) + look.diff_left_out == 4001


def test_a_time_limit_is_a_note_and_any_other_argument_is_told() -> None:
    """What a tool would take beside what is known stands under it."""
    look = asked("bash", {"command": "make", "timeout": 600, "cwd": "/etc"})
    assert [note.text for note in look.notes] == ["at most 600 s"]
    assert look.text is not None
    assert look.text.text == "make\n\ncwd: /etc"
    look = asked("bash", {"command": "make", "timeout": "soon"})
    assert look.text is not None
    assert look.text.text == "make\n\ntimeout: soon"


def test_an_edit_is_a_diff_of_its_own_texts() -> None:
    """Lines that both have stand once; edits are set apart."""
    look = asked(
        "edit",
        {
            "path": "shop/a.py",
            "edits": [
                {"oldText": "one\ntwo\nthree", "newText": "one\n2\nthree\nfour"},
                {"oldText": "x", "newText": ""},
            ],
        },
    )
    assert look.diff == (
        DiffLine("ctx", " one"),
        DiffLine("del", "-two"),
        DiffLine("add", "+2"),
        DiffLine("ctx", " three"),
        DiffLine("add", "+four"),
        DiffLine("ctx", "…"),
        DiffLine("del", "-x"),
        DiffLine("add", "+"),
    )
    assert (look.subject, look.text) == ("shop/a.py", None)
    assert [note.text for note in look.notes] == ["+3", "−2"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a", "edits": []},
        {"path": "a", "edits": "oldText"},
        {"path": "a", "edits": [{"oldText": "x"}]},
        {"path": "a", "edits": [{"oldText": "x", "newText": 1}]},
        {"path": ["a"], "edits": [{"oldText": "x", "newText": "y"}]},
        ["a", "b"],
        "whole",
    ],
)
def test_an_edit_that_is_not_whole_is_told_as_it_is(arguments: Any) -> None:
    """No diff is made up from half of one: the arguments are told."""
    look = asked("edit", arguments)
    assert look.diff == ()
    assert look.text is not None
    assert "a" in look.text.text or "whole" in look.text.text


def test_a_file_to_be_written_is_shown_with_its_lines() -> None:
    """Path, count of lines, and all of its content."""
    look = asked("write", {"path": "a.txt", "content": "one\ntwo"})
    assert (look.subject, [note.text for note in look.notes]) == ("a.txt", ["2 lines"])
    assert look.text is not None
    assert look.text.text == "one\ntwo"
    assert [note.text for note in asked("write", {"path": "a", "content": ""}).notes] == ["empty"]


def test_a_reading_call_is_one_line_unless_that_hides_something() -> None:
    """What the line says needs nothing under it; a long subject and other arguments do."""
    assert asked("read", {"path": "a.py", "offset": 1, "limit": 9}).text is None
    assert asked("ls", {}).text is None
    long = asked("read", {"path": "x/" * 400})
    assert long.text is not None
    assert "x/" * 400 in long.text.text
    other = asked("grep", {"pattern": "a", "ignoreCase": True})
    assert other.text is not None
    assert other.text.text == "ignoreCase: true"


@pytest.mark.parametrize(
    "text",
    ["\u202e", "\u2066", "\u200b", "\u200f", "\r", "\x1b[2K", "\x00", "\ufeff", "\U000e0041"],
)
def test_what_would_not_be_seen_is_spelled_out(text: str) -> None:
    """A mark that turns text around, has no width or moves a cursor is written as its number."""
    look = asked("bash", {"command": f"ls {text} -l"})
    assert look.text is not None
    assert text[0] not in look.text.text
    assert f"⟨U+{ord(text[0]):04X}⟩" in look.text.text


def test_plain_text_is_left_alone() -> None:
    """Letters of every script, tabs, newlines, accents and joined signs stay as they are."""
    text = "a\tb\nمرحبا שלום é 👩‍👩‍👧 漢字"
    assert visible(text) == text


@given(st.sampled_from(NAMES), VALUES | st.dictionaries(FIELDS, VALUES))
def test_any_arguments_make_a_preview_that_tells_every_text_in_them(
    name: str, arguments: Any
) -> None:
    """No shape of arguments breaks it, and no text in an object's fields is left out."""
    look = asked(name, arguments)
    if isinstance(arguments, dict) and name not in ("read", "grep", "find", "ls"):
        told = shown(look)
        for value in arguments.values():
            if isinstance(value, str):
                assert all(line in told for line in visible(value).rstrip("\n").split("\n"))


def test_a_large_edit_costs_little() -> None:
    """Lines beyond the bound are not compared, whatever they are."""
    old = "\n".join(f"line {n % 7}" for n in range(20_000))
    began = time.perf_counter()
    lines = edit_lines({"edits": [{"oldText": old, "newText": old.replace("3", "4")}]})
    assert lines is not None
    assert len(lines) == 40_000
    assert time.perf_counter() - began < 2
