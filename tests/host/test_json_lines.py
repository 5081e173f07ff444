"""Lines are read with the rules of ``JSON.parse`` and written with those of ``JSON.stringify``."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enso.host.json_lines import (
    MAX_DEPTH,
    MalformedLine,
    _DeepReader,
    clean_text,
    dump_line,
    is_blank,
    parse_line,
    plain,
)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)

DEEP = 30_000


def nested(inner: str, depth: int = DEEP) -> bytes:
    """``inner`` in so many arrays that a reader with recursion gives up."""
    return b"[" * depth + inner.encode() + b"]" * depth


@pytest.mark.parametrize(
    "line",
    [
        b"NaN",
        b"Infinity",
        b'{"a":-Infinity}',
        b'"\x01"',
        b'"a\tb"',
        b'"a\rb"',
        b'{"a":1,}',
        b"[1,]",
        b"[,1]",
        b"{'a':1}",
        b"01",
        b"1.",
        b".5",
        b"+1",
        b"0x1",
        b'"\\q"',
        b'"\\u12"',
        b'"open',
        b'{"a"}',
        b'{"a":}',
        b"{1:2}",
        b"[1 2]",
        b"1 2",
        b"tru",
        b"{}{}",
        b'{"a":1',
        b"\x00\x00",
        b"\xef\xbb\xbf{}",
        b"",
    ],
)
def test_what_javascript_refuses_is_malformed(line: bytes) -> None:
    """Words of Python's reader, raw control characters, torn and fused lines are no JSON."""
    with pytest.raises(MalformedLine):
        parse_line(line)


@pytest.mark.parametrize(
    "inner",
    ["NaN", '"\x01"', "1 2", "[1,]", "{,}", '{"a"}', '{"a" 1}', '{"a":1,}', '"\\q"', "01", "tru"],
)
def test_what_javascript_refuses_is_malformed_at_any_depth(inner: str) -> None:
    """The reader without recursion refuses the same."""
    with pytest.raises(MalformedLine):
        parse_line(nested(inner))


@pytest.mark.parametrize("cut", [1, 17, DEEP])
def test_nesting_that_is_not_closed_is_malformed(cut: int) -> None:
    """A torn line of deep nesting is damage, whatever is missing."""
    with pytest.raises(MalformedLine):
        parse_line(nested("1")[:-cut])
    with pytest.raises(MalformedLine):
        parse_line(nested("1") + b"]")


@pytest.mark.parametrize(
    "line, value",
    [
        (b"1e400", math.inf),
        (b"-1e400", -math.inf),
        (b"9" * 5_000, math.inf),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b' \t\r{"a":[true,false,null]}\r\n', {"a": [True, False, None]}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud83d"', "\ud83d"),
        (b'"\xff\xc3("', "\ufffd\ufffd("),
        (b'"\xe2\x80\xa8"', "\u2028"),
        (b'["\\ud83d",-0.5,12,1E3]', ["\ud83d", -0.5, 12, 1000.0]),
    ],
)
def test_what_javascript_takes_is_read(line: bytes, value: Any) -> None:
    """Unbounded numbers, lone surrogates, repeated keys, and bytes that are no UTF-8."""
    assert parse_line(line) == value


def test_an_integer_of_thousands_of_digits_is_a_number() -> None:
    """It loses its digits, as in JavaScript, and not its line."""
    assert parse_line(b'{"n":' + b"1" * 300 + b"}") == {"n": pytest.approx(1.11111e299, rel=1e-4)}


def test_nesting_costs_no_recursion_and_is_kept_up_to_a_depth() -> None:
    """What lies around deep nesting is whole; what lies below the bound is left out."""
    value = parse_line(
        b'{"before":"\\ud83d","deep":' + nested('{"x":[1]}') + b',"after":[1,{"b":2}]}'
    )
    assert value["before"] == "\ud83d"
    assert value["after"] == [1, {"b": 2}]
    depth, inner = 0, value["deep"]
    while isinstance(inner, list) and inner:
        depth, inner = depth + 1, inner[0]
    assert inner == []
    assert depth == MAX_DEPTH - 1


@given(JSON_VALUES)
def test_every_value_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    """Reading agrees with ``json``, also where the line has to take the slower way."""
    text = json.dumps(value)
    assert parse_line(text.encode()) == value
    assert parse_line(b'["\\ud83d",' + text.encode() + b"]") == ["\ud83d", value]


@given(JSON_VALUES)
def test_the_reader_without_recursion_agrees_with_the_others(value: Any) -> None:
    """What is read where recursion runs out is read as it is read elsewhere."""
    assert _DeepReader(json.dumps(value)).read() == value
    assert _DeepReader(json.dumps([[value], value], indent=1)).read() == [[value], value]


@settings(max_examples=5)
@given(JSON_VALUES)
def test_every_value_is_read_the_same_beside_deep_nesting(value: Any) -> None:
    """A line whose nesting takes that reader keeps every other value."""
    line = b'{"deep":' + nested("0") + b',"value":' + json.dumps(value).encode() + b"}"
    assert parse_line(line)["value"] == value


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_what_is_written_reads_back(value: dict[str, Any]) -> None:
    """A written line is one line, and the value again."""
    line = dump_line(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert parse_line(line) == value


@given(st.text(st.characters()))
def test_any_text_is_written_as_one_line_of_utf8(text: str) -> None:
    """Half surrogate pairs too: they are escaped, and read back as they were."""
    line = dump_line({"text": text + "\ud83d"})
    assert line.count(b"\n") == 1
    assert line.decode()
    assert parse_line(line) == {"text": text + "\ud83d"}


@pytest.mark.parametrize(
    "value, line",
    [
        ({"a": 1, "b": [True, None]}, b'{"a":1,"b":[true,null]}\n'),
        ({"text": "\u00e4\u2028\U0001f600"}, '{"text":"\u00e4\u2028\U0001f600"}\n'.encode()),
        ({"text": "\ud83d"}, b'{"text":"\\ud83d"}\n'),
        ({"text": '\x00\t\n"'}, b'{"text":"\\u0000\\t\\n\\""}\n'),
        ({"n": math.nan, "i": math.inf}, b'{"n":null,"i":null}\n'),
        ({"n": math.nan, "s": "\ud83d"}, b'{"n":null,"s":"\\ud83d"}\n'),
        ({"n": 2**70}, b'{"n":1180591620717411303424}\n'),
    ],
)
def test_lines_are_written_as_javascript_writes_them(value: dict[str, Any], line: bytes) -> None:
    """No blanks, raw Unicode, escaped control characters, null for what is no number."""
    assert dump_line(value) == line


def test_what_no_line_can_hold_is_refused() -> None:
    """Nesting without bounds and foreign objects raise ``ValueError``, nothing else."""
    deep: list[Any] = []
    for _ in range(DEEP):
        deep = [deep]
    for value in (deep, object(), {1, 2}):
        with pytest.raises(ValueError, match="cannot be written"):
            dump_line({"value": value})


@pytest.mark.parametrize("line", [b"", b"\n", b" \t\r\n", b"\xc2\xa0\n", b"\xef\xbb\xbf\n"])
def test_white_space_is_blank(line: bytes) -> None:
    """What JavaScript trims away is no damage."""
    assert is_blank(line)


@pytest.mark.parametrize("line", [b"\x00", b"x", b"{", b"0"])
def test_anything_else_is_not_blank(line: bytes) -> None:
    """A NUL is no white space."""
    assert not is_blank(line)


@given(JSON_VALUES | st.floats() | st.text(st.characters()))
def test_plain_values_can_be_encoded(value: Any) -> None:
    """What leaves the host is UTF-8 and standard JSON."""
    assert json.dumps(plain(value), allow_nan=False, ensure_ascii=False).encode()


def test_plain_values_have_a_bounded_depth() -> None:
    """Any encoder can walk them."""
    value: Any = "leaf"
    for _ in range(DEEP):
        value = [value]
    assert json.dumps(plain(value))


def test_clean_text_keeps_everything_that_is_a_character() -> None:
    """Only halves of surrogate pairs are replaced."""
    assert clean_text("a\u00e4\u2028\U0001f600\x00") == "a\u00e4\u2028\U0001f600\x00"
    assert clean_text("a\ud83d\udc4d\udfffb") == "a\ufffd\ufffd\ufffdb"
