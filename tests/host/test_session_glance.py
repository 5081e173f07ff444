"""A glance: what it tells is what an exact look tells, but where that needs every byte."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from enso.host.session_glance import Glance
from enso.host.session_look import RowFile, look_at
from tests.host.corpus import ALL, Recorded, place
from tests.host.session_lines import PI_HEADER, PI_TEXT, pi_begun, pi_message, pi_thread


def glanced(path: Path) -> RowFile | None:
    """What a glance tells; never more than it may."""
    row = Glance().at(str(path))
    assert row is None or (not row.proven and row.read is None)
    return row


def agrees(path: Path) -> bool:
    """Whether a glance tells the row; it is the exact one then."""
    glance, exact = glanced(path), look_at(str(path))
    if glance is None:
        return False
    assert exact is not None
    assert (glance.facts, glance.stamp) == (exact.facts, exact.stamp)
    return True


@pytest.mark.parametrize("recorded", ALL, ids=str)
def test_every_recorded_file_has_the_exact_row_or_none(recorded: Recorded, tmp_path: Path) -> None:
    """Damaged ones too."""
    agrees(place(recorded, tmp_path))


def written(seed: int) -> list[bytes]:
    """A thread of any entries and branches, in which somebody spoke in the end."""
    pick = random.Random(seed)
    others = {
        b"session_info": b'"name":"Name %d"}\n',
        b"label": b'"targetId":"a","label":"%d"}\n',
        b"custom": b'"customType":"x","data":{"n":%d}}\n',
    }
    lines = [PI_HEADER]
    count = pick.randrange(3, 60)
    for number in range(count):
        near = pick.random() < 0.8
        parent = None if not number else number - 1 if near else pick.randrange(number)
        kind = pick.choice([b"message"] * 5 + list(others))
        if kind == b"message" or number > count - 3:
            role = pick.choice([b"user", b"assistant", b"toolResult", b"system"])
            lines.append(pi_message(number, parent, role if number < count - 2 else b"assistant"))
        else:
            lines.append(pi_begun(kind, number, parent) + others[kind] % number)
    return lines


def test_what_is_written_whole_has_the_exact_row(tmp_path: Path) -> None:
    """Any entries in any branches, with and without a title and a name."""
    for seed in range(150):
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(b"".join(written(seed)))
        assert agrees(path)


def lost(lines: list[bytes], at: int) -> list[bytes]:
    """The same where the entry of this line was lost: what came after hangs on the one before."""
    return [
        line.replace(b'"parentId":"%08x"' % (at - 1), b'"parentId":"%08x"' % (at - 2))
        for line in lines
    ]


WHOLE = pi_thread()
AT = 12
DAMAGED = {
    "cut, and gone on from in the same line": [*WHOLE[:AT], WHOLE[AT][:200], *WHOLE[AT + 1 :]],
    "lost, and gone on from before it": [*WHOLE[:AT], WHOLE[AT][:200], *lost(WHOLE[AT + 1 :], AT)],
    "cut before its newline": [*WHOLE[:AT], WHOLE[AT][:200] + b"\n", *WHOLE[AT + 1 :]],
    "NULs": [*WHOLE[:AT], WHOLE[AT].replace(PI_TEXT, b"\0" * len(PI_TEXT)), *WHOLE[AT + 1 :]],
    "blank lines": [*WHOLE[:AT], b"\n", b" \n", *WHOLE[AT:]],
    "carriage returns": [line.replace(b"\n", b"\r\n") for line in WHOLE],
    "twice": [*WHOLE[:AT], *WHOLE[AT - 5 :]],
    "a line that is missing": [*WHOLE[:AT], *WHOLE[AT + 1 :]],
    "a torn end": [*WHOLE, WHOLE[AT][:200]],
    "no newline in the end": [*WHOLE[:-1], WHOLE[-1][:-1]],
    "a very long line": [*WHOLE[:AT], pi_message(99, 10, b"user", b"x" * (1 << 21)), *WHOLE[AT:]],
    "another version": [PI_HEADER.replace(b":3,", b":2,"), *WHOLE[1:]],
    "no header": WHOLE[1:],
    "a header alone": [PI_HEADER],
    "a header without its newline": [PI_HEADER[:-1]],
    "nothing": [],
    "other ids": [line.replace(b'"0000', b'"other-0000') for line in WHOLE],
    "nobody spoke last": [*WHOLE, *(pi_message(n, n - 1, b"toolResult") for n in range(20, 40))],
    "no message of the user": [line.replace(b'"user"', b'"system"') for line in WHOLE],
    "a damaged last line": [*WHOLE[:-1], WHOLE[-1].replace(PI_TEXT, b"\t")],
    "an end of another entry": [*WHOLE, pi_begun(b"label", 20, 19) + b'"targetId":"a"}\n'],
}


@pytest.mark.parametrize("lines", DAMAGED.values(), ids=list(DAMAGED))
def test_what_shows_that_it_is_damaged_has_the_exact_row_or_none(
    lines: list[bytes], tmp_path: Path
) -> None:
    """What a crash or another program may leave."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(lines))
    agrees(path)


def test_a_line_that_is_damaged_inside_is_not_seen_at_a_glance(tmp_path: Path) -> None:
    """A raw tab in a text: the line counts until it was looked at exactly."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join([*WHOLE[:AT], WHOLE[AT].replace(PI_TEXT, b"\t"), *WHOLE[AT + 1 :]]))
    glance, exact = glanced(path), look_at(str(path))
    assert glance is not None
    assert glance.facts is not None
    assert exact is not None
    assert exact.facts is not None
    assert glance.facts.message_count == exact.facts.message_count + 1 == len(WHOLE) - 1


def test_what_is_no_file_has_no_row(tmp_path: Path) -> None:
    """A directory, a name that no file can have, and nothing."""
    for path in (str(tmp_path), str(tmp_path / "gone"), "\0"):
        assert Glance().at(path) is None


def test_a_glance_parses_as_many_lines_of_a_long_thread_as_of_a_short_one(tmp_path: Path) -> None:
    """Also of one that is longer than what is held at once."""
    parsed: list[int] = []
    for count in (40, 8000):
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(b"".join(pi_thread(count)))
        assert agrees(path)
        glance = Glance()
        glance.at(str(path))
        parsed.append(glance.lines_parsed)
    assert path.stat().st_size > 1 << 20
    assert parsed[0] == parsed[1] < 12


def test_one_glance_says_nothing_of_another(tmp_path: Path) -> None:
    """A short file behind a long one."""
    glance = Glance()
    for number, lines in enumerate((pi_thread(50), pi_thread(3), [PI_HEADER], pi_thread(9))):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"".join(lines))
        exact, row = look_at(str(path)), glance.at(str(path))
        assert row is not None
        assert exact is not None
        assert row.facts == exact.facts
