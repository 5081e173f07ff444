"""Output as a terminal would leave it: colours gone, progress bars at their end, text untouched."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enso.server.terminal_text import terminal_text


@pytest.mark.parametrize(
    "text, left",
    [
        ("\x1b[1;31mFAILED\x1b[0m tests", "FAILED tests"),
        ("\x1b]0;a title\x07$ ls", "$ ls"),
        ("\x1b]8;;https://example.org\x1b\\a link\x1b]8;;\x1b\\", "a link"),
        ("10 %\r50 %\r100 %\ndone", "100 %\ndone"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("still going\r", "still going"),
        ("a\x08b\x00c", "abc"),
        ("\x1b(B\x1b[?25l\x1b=x", "x"),
        ("torn at \x1b", "torn at "),
        ("torn at \x1b[3", "torn at 3"),
        ("a\tb  c\n\n  d", "a\tb  c\n\n  d"),
    ],
)
def test_what_a_terminal_leaves_standing(text: str, left: str) -> None:
    """Sequences are taken out, a line written over shows what was written last."""
    assert terminal_text(text) == left


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_text_without_controls_is_left_alone(text: str) -> None:
    """Every script, every sign, every space."""
    assert terminal_text(text) == text


@given(st.text(st.sampled_from("\x1b[];\x07\\0mPx\r\n\x08")))
def test_no_control_stays(text: str) -> None:
    """Whatever was torn or nested, no sequence and no return is left to act."""
    left = terminal_text(text)
    assert not any(letter in left for letter in "\x1b\r\x07\x08")


@pytest.mark.parametrize("piece", ["\x1b", "\x1b[", "\x1b]", "\x1bP", "\r", "x", "\x1b[0"])
def test_a_flood_costs_little(piece: str) -> None:
    """The work grows with the text alone."""
    began = time.perf_counter()
    terminal_text(piece * 300_000)
    assert time.perf_counter() - began < 5
