"""A line that is not held whole tells of its images what the whole line tells."""

from __future__ import annotations

import base64
import json
import os
from functools import partial
from pathlib import Path

import pytest

from enso.host.lines_before import Counters, lines_before
from enso.host.session_images import cuts_around, cuts_of
from enso.host.session_tail import SparseLine, sparse_lines_before

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big")
JPEG = (
    *(b"\xff\xd8\xff\xe1\xea\x62" + b"\0" * 60_000, b"\xff\xc0\0\x11\x08"),
    *((300).to_bytes(2, "big"), (200).to_bytes(2, "big")),
)
"""Its size stands behind 60 kB of something else."""


def image(data: bytes, length: int) -> dict[str, str]:
    """An image of so many bytes, as a session stores it."""
    stored = base64.b64encode(data + b"\1" * (length - len(data))).decode()
    return {"type": "image", "data": stored, "mimeType": "image/png"}


def text(letters: str) -> dict[str, str]:
    """A text, as a session stores it."""
    return {"type": "text", "text": letters}


CONTENTS = {
    "short": [text("A few words")],
    "small image": [image(PNG, 3_000)],
    "image": [text("Look"), image(PNG, 700_000), text("there")],
    "images": [image(PNG, 300_000), image(b"".join(JPEG), 500_000), image(PNG, 90)],
    "long text": [text("x" * 600_000), image(PNG, 300_000)],
    "long text behind": [image(PNG, 300_000), text("x" * 600_000)],
    "escaped text": [text('say "it" \\ ' * 60_000), image(PNG, 300_000)],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of these, one line each."""
    path = tmp_path_factory.mktemp("lines") / "session.jsonl"
    entries = [{"type": "message", "message": {"content": one}} for one in CONTENTS.values()]
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in entries))
    return path


def whole(line: SparseLine, raw: bytes) -> bytes:
    """The line with what was left out of it put back, of which ``raw`` is the whole."""
    built, at = b"", 0
    for place, length in line.holes:
        built += line.text[at:place]
        built += raw[len(built) : len(built) + length]
        at = place
    return built + line.text[at:]


@pytest.mark.parametrize("shift", [0, 1, 70_000, 150_000, 262_000])
def test_lines_are_those_of_the_file(path: Path, shift: int, tmp_path: Path) -> None:
    """Wherever they lie in what is read at once; what is left out is plain."""
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(path.read_bytes() + b"y" * shift + b"\n")
    size = moved.stat().st_size
    with moved.open("rb") as stream:
        expected = list(lines_before(stream.fileno(), size, Counters()))
        found = list(sparse_lines_before(stream.fileno(), size, Counters()))
    assert [(one.offset, one.length) for one in found] == [(at, len(raw)) for at, raw in expected]
    assert [whole(one, raw) for one, (_, raw) in zip(found, expected, strict=True)] == [
        raw for _, raw in expected
    ]
    assert max(len(one.text) for one in found if b"Look" in one.text) < 50_000


def part_of(raw: bytes, at: int, length: int) -> bytes:
    """Bytes of a line from a place on."""
    return raw[at : at + length]


def test_images_are_told_as_by_the_whole_line(path: Path) -> None:
    """Where they are and how large they look; where something else is left out, nothing is."""
    told: dict[str, bool] = {}
    with path.open("rb") as stream:
        descriptor, size = stream.fileno(), path.stat().st_size
        lines = list(sparse_lines_before(descriptor, size, Counters()))
        for name, line in zip(CONTENTS, reversed(lines), strict=True):
            raw = os.pread(descriptor, line.length, line.offset)
            read = partial(part_of, raw)
            cuts = cuts_around(line.text, line.holes, read)
            told[name] = cuts is not None
            assert cuts in (None, cuts_of(raw))
    assert [name for name, is_told in told.items() if not is_told] == [
        "long text",
        "long text behind",
    ]


def test_a_size_that_stands_deep_in_an_image_is_read(path: Path) -> None:
    """Of the line no more than that."""
    with path.open("rb") as stream:
        lines = list(sparse_lines_before(stream.fileno(), path.stat().st_size, Counters()))
        line = lines[-1 - list(CONTENTS).index("images")]
        read: list[int] = []

        def read_more(at: int, length: int) -> bytes:
            read.append(length)
            return os.pread(stream.fileno(), length, line.offset + at)

        cuts = cuts_around(line.text, line.holes, read_more)
    assert cuts is not None
    assert [cut.sketch.size for cut in cuts] == [(640, 480), (200, 300)]
    assert sum(read) < 100
