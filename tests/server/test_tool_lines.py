"""How tool calls read: the line, its outcome, and what opens under it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso import wire
from enso.server.tool_lines import ToolLook, cut_text, cut_to_end, duration_words, tool_look


def look(
    name: str, arguments: Any, text: str | None = None, *, state: Any = "done", **fields: Any
) -> ToolLook:
    """How a call reads."""
    content: list[Any] = [wire.TextPart(content=text)] if text is not None else []
    answered = state in ("done", "failed")
    details = fields.pop("details", None)
    result = wire.ToolResult(content=content, is_error=state == "failed", details=details)
    call = wire.ToolCallPart(
        id="c",
        name=name,
        arguments=arguments,
        state=state,
        result=result if answered else None,
        **fields,
    )
    return tool_look(call)


def line(read: ToolLook) -> str:
    """The line as a person reads it."""
    return " ".join([read.name, read.subject, *(note.text for note in read.notes)]).strip()


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("read", {"path": "a.py"}, "read a.py"),
        ("read", {"path": "a.py", "offset": 1, "limit": 80}, "read a.py 1–80"),
        ("read", {"path": "a.py", "offset": 40}, "read a.py from 40"),
        ("bash", {"command": "ls\n  -l"}, "bash ls -l"),
        ("bash", {"command": "ls \u202e;x\x1b"}, "bash ls ⟨U+202E⟩;x⟨U+001B⟩"),
        ("write", {"path": "a", "content": "1\n2\n"}, "write a 2 lines"),
        ("write", {"path": "a", "content": "1"}, "write a 1 line"),
        ("grep", {"pattern": "x(", "path": "src", "glob": "*.py"}, "grep x( in src in *.py"),
        ("find", {"pattern": "*.md"}, "find *.md"),
        ("ls", {}, "ls ."),
        ("frobnicate", {"x": 1, "y": ["a"]}, 'frobnicate {"x": 1, "y": ["a"]}'),
        ("frobnicate", {}, "frobnicate"),
        ("", {}, "unnamed tool"),
    ],
)
def test_a_call_says_what_it_does_on_what(name: str, arguments: Any, words: str) -> None:
    """One line a call, by the arguments of the tools that pi has; others by their JSON."""
    assert line(look(name, arguments)) == words


@pytest.mark.parametrize(
    "state, words",
    [
        ("streaming", "read a writing"),
        ("running", "read a running"),
        ("done", "read a"),
        ("failed", "read a failed"),
        ("interrupted", "read a no result"),
    ],
)
def test_a_call_says_how_it_ended(state: str, words: str) -> None:
    """A call that was cut off says so, and is never told as done."""
    assert line(look("read", {"path": "a"}, "text", state=state)) == words


def test_a_command_tells_its_exit_code_and_how_long_it_took() -> None:
    """The shell's closing sentence becomes a note; the output is without it."""
    read = look(
        "bash",
        {"command": "make"},
        "boom\n\n\nCommand exited with code 2",
        state="failed",
        duration_ms=12_300,
    )
    assert line(read) == "bash make 12 s exit 2"
    assert read.output is not None
    assert read.output.text == "boom"


def test_an_edit_shows_its_diff_and_counts_it() -> None:
    """Added and removed lines are told apart; the sentence of the result is not repeated."""
    diff = "     ...\n  8 a\n-9 b\n+9 c\n+10 d"
    read = look("edit", {"path": "a.py", "edits": []}, "Replaced 1.", details={"diff": diff})
    assert line(read) == "edit a.py +2 −1"
    assert [one.kind for one in read.diff] == ["ctx", "ctx", "del", "add", "add"]
    assert "\n".join(one.text for one in read.diff) == diff
    assert (read.output, read.arguments) == (None, None)


def test_an_edit_without_a_diff_shows_what_it_was_asked() -> None:
    """A refused edit opens to its arguments and to the reason."""
    read = look("edit", {"path": "a", "edits": [{"oldText": "x"}]}, "Not found.", state="failed")
    assert read.arguments is not None
    assert "oldText" in read.arguments.text
    assert read.output is not None


def test_arguments_with_lines_of_their_own_open_as_they_were_written() -> None:
    """A script given to an unknown tool is read as a script, not as escaped JSON."""
    read = look("codemode", {"code": "a = 1\nreturn a\n" * 9, "n": 1}, "ok")
    assert read.arguments is not None
    assert read.arguments.text.startswith("code: a = 1\nreturn a\n")


def test_a_diff_of_twenty_megabytes_is_cut_and_counted() -> None:
    """The first lines are shown, the rest is a number, and no line is endless."""
    diff = "+1 " + "x" * 5_000_000 + "\n" + "+2 y\n" * 3_000_000
    read = look("edit", {"path": "a"}, "ok", details={"diff": diff})
    assert (len(read.diff), read.diff_left_out) == (400, 3_000_002 - 400)
    assert max(len(one.text) for one in read.diff) <= 2_000
    assert line(read) == "edit a +3000001 −0"


def test_long_output_is_cut_and_says_how_much_is_left_out() -> None:
    """A file by its start; a command by its end, where it says how it went."""
    text = "".join(f"line {n}\n" for n in range(1000))
    file, command = look("read", {"path": "a"}, text), look("bash", {"command": "x"}, text)
    assert file.output is not None
    assert command.output is not None
    assert file.output.text.startswith("line 0\n")
    assert command.output.text.endswith("\nline 999")
    assert (file.output.lines_left_out, command.output.lines_left_out) == (600, 600)


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 9), st.integers(1, 30))
def test_what_is_cut_is_counted_exactly(text: str, lines: int, characters: int) -> None:
    """Shown and left out are together the text; no more is shown than was asked for."""
    whole = text.rstrip("\n")
    for cut in (cut_text(text, lines=lines, characters=characters),
                cut_to_end(text, lines=lines, characters=characters)):  # fmt: skip
        assert len(cut.text) + cut.characters_left_out == len(whole)
        assert len(cut.text) <= characters
        assert cut.text.count("\n") < lines
        assert (whole.endswith if cut.is_end else whole.startswith)(cut.text)


@pytest.mark.parametrize("name", ["read", "bash", "edit", "write", "grep", "find", "ls", "other"])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["path", "command", "pattern", "content", "offset", "diff"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=6,
    )
)
def test_a_tool_may_be_given_anything(name: str, value: Any) -> None:
    """Whatever a model or a tool made of the shapes: there is a line, on one line."""
    read = look(name, value, "x", details=value)
    assert read.name == name
    assert "\n" not in read.subject


@pytest.mark.parametrize(
    "milliseconds, words",
    [
        (None, ""),
        (-1, ""),
        (40, "0.0 s"),
        (1_234, "1.2 s"),
        (59_900, "59 s"),
        (61_000, "1 min 1 s"),
    ],
)
def test_durations_are_told_shortly(milliseconds: int | None, words: str) -> None:
    """Seconds until there are minutes."""
    assert duration_words(milliseconds) == words


def test_an_edit_that_is_not_done_shows_what_it_would_have_made() -> None:
    """While it runs, and when it failed, its own texts are the diff, and no count claims it."""
    arguments = {"path": "a.py", "edits": [{"oldText": "one\ntwo", "newText": "one\n2"}]}
    for state in ("running", "failed"):
        read = look("edit", arguments, "No match" if state == "failed" else None, state=state)
        assert [(one.kind, one.text) for one in read.diff] == [
            ("ctx", " one"),
            ("del", "-two"),
            ("add", "+2"),
        ]
        assert read.arguments is None
        assert line(read) == f"edit a.py {state}"
    assert look("edit", {"path": "a.py", "edits": [{"oldText": 1}]}, state="running").arguments


def test_a_long_proposed_diff_is_cut_and_said() -> None:
    """As a stored one is."""
    arguments = {"edits": [{"oldText": "x", "newText": "y\n" * 1000}]}
    read = look("edit", arguments, state="running")
    assert (len(read.diff), read.diff_left_out) == (400, 602)
