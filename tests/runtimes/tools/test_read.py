"""The tool ``read``: lines, images, and what it says of everything else."""

from __future__ import annotations

import base64
import os
import socket
import struct
import zlib
from pathlib import Path

import pytest

from enso.images import MAX_IMAGE_BYTES
from tests.runtimes.tools.calls import call, text


def png(width: int = 1, height: int = 1, *, animated: bool = False) -> bytes:
    """A PNG file of this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        end = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", end)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    control = chunk(b"acTL", bytes(8)) if animated else b""
    body = chunk(b"IDAT", zlib.compress(b"\0\0\0\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + control + body + chunk(b"IEND", b"")


def jpeg(width: int = 3, height: int = 2) -> bytes:
    """The parts of a JPEG file that say its size, and its end."""
    app = b"\xff\xe0\x00\x04ab"
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(10)
    return b"\xff\xd8" + app + frame + b"\xff\xda" + bytes(20) + b"\xff\xd9"


GIF = b"GIF89a" + struct.pack("<HH", 3, 2) + bytes(3) + b";"


def webp(kind: bytes, body: bytes) -> bytes:
    """A WebP file with one chunk."""
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


WEBP = webp(b"VP8 ", bytes(6) + struct.pack("<HH", 3, 2) + bytes(20))
WEBP_LOSSLESS = webp(b"VP8L", b"\x2f" + struct.pack("<I", 2 | 1 << 14) + bytes(20))
WEBP_EXTENDED = webp(b"VP8X", bytes(4) + b"\x02\0\0\x01\0\0" + bytes(20))


# -- lines --------------------------------------------------------------------------------------


def test_a_long_file_is_shown_up_to_the_limit_with_where_to_go_on(project: Path) -> None:
    """2000 lines are shown; following the notice gives the rest, and nothing twice."""
    (project / "long").write_text("".join(f"{number}\n" for number in range(1, 4501)))
    shown: list[str] = []
    offset = 1
    while True:
        outcome = call("read", {"path": "long", "offset": offset}, project)
        lines, _, notice = text(outcome).partition("\n\n[")
        shown += lines.split("\n")
        if not notice:
            break
        offset = int(notice.rpartition("offset=")[2].split()[0])
    assert shown == [*(str(number) for number in range(1, 4501)), ""]


def test_a_limit_by_size_is_said_with_its_size(project: Path) -> None:
    """Long lines fill the size before the count; whole lines are shown."""
    (project / "wide").write_text(("x" * 999 + "\n") * 100)
    outcome = call("read", {"path": "wide"}, project)
    notice = "\n\n[Showing lines 1-51 of 101 (50.0KB limit). Use offset=52 to continue.]"
    assert text(outcome) == "\n".join(["x" * 999] * 51) + notice
    assert outcome.details is not None
    assert outcome.details["truncation"]["outputLines"] == 51
    assert outcome.details["truncation"]["totalBytes"] == 100_000


def test_a_line_that_is_too_long_is_named_with_a_command_that_shows_it(project: Path) -> None:
    """The command that the notice gives shows the beginning of the line."""
    (project / "f").write_text("short\n" + "y" * 60_000 + "\nend\n")
    outcome = call("read", {"path": "f", "offset": 2}, project)
    says = text(outcome)
    assert says.startswith("[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: ")
    command = says.removesuffix("]").partition("Use bash: ")[2]
    assert text(call("bash", {"command": command}, project)) == "y" * 51_200


def test_characters_are_not_cut(project: Path) -> None:
    """A file of wide characters is cut between lines, never within a character."""
    (project / "f").write_text(("€" * 333 + "\n") * 100, "utf-8")
    says = text(call("read", {"path": "f"}, project))
    assert says.partition("\n\n")[0] == "\n".join(["€" * 333] * 51)


def test_a_file_is_found_by_the_names_that_people_and_systems_give_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mentions, the home directory, file URLs, other blanks and other spellings are understood."""
    monkeypatch.setenv("HOME", str(project))
    (project / "a b.txt").write_text("found")
    (project / "Caf\u0065\u0301.txt").write_text("found")
    (project / "Screenshot at 3.00\u202fPM.txt").write_text("found")
    (project / "it\u2019s.txt").write_text("found")
    names = [
        "@a b.txt",
        "~/a b.txt",
        f"file://{project}/a%20b.txt",
        "a\u00a0b.txt",
        "./x/../a b.txt",
    ]
    names += ["Caf\u00e9.txt", "Screenshot at 3.00 PM.txt", "it's.txt", f"@{project}/a b.txt"]
    said = {name: text(call("read", {"path": name}, project)) for name in names}
    assert said == dict.fromkeys(names, "found")


# -- images -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, kind",
    [
        (png(), "image/png"),
        (jpeg(), "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
        (WEBP_LOSSLESS, "image/webp"),
        (WEBP_EXTENDED, "image/webp"),
    ],
    ids=["png", "jpeg", "gif", "webp", "webp lossless", "webp extended"],
)
def test_an_image_is_shown_by_its_content(content: bytes, kind: str, project: Path) -> None:
    """Whatever the file is called, its bytes say what it is, and come unchanged."""
    (project / "some.dat").write_bytes(content)
    outcome = call("read", {"path": "some.dat"}, project)
    assert outcome.content == [
        {"type": "text", "text": f"Read image file [{kind}]"},
        {"type": "image", "data": base64.b64encode(content).decode(), "mimeType": kind},
    ]


@pytest.mark.parametrize(
    "content, says",
    [
        (png()[:-12], "[Image omitted: the file is damaged.]"),
        (jpeg()[:-2], "[Image omitted: the file is damaged.]"),
        (WEBP[:-4], "[Image omitted: the file is damaged.]"),
        (GIF[:-1], "[Image omitted: the file is damaged.]"),
        (png(0, 5), "[Image omitted: the file is damaged.]"),
        (b"\xff\xd8\xff\xff\xff\xff\xff", "[Image omitted: the file is damaged.]"),
        (png(9000, 2), "[Image omitted: 9000x2 pixels, and 8000 a side is the limit.]"),
        (jpeg(2, 9000), "[Image omitted: 2x9000 pixels, and 8000 a side is the limit.]"),
        (
            png() + bytes(MAX_IMAGE_BYTES),
            "[Image omitted: could not be resized below the inline image size limit.]",
        ),
        (
            b"BM" + struct.pack("<IIIIIIHH", 0, 0, 54, 40, 1, 1, 1, 24) + bytes(30),
            "[Image omitted: could not be converted to a supported inline image format.]",
        ),
    ],
    ids=[
        "png cut",
        "jpeg cut",
        "webp cut",
        "gif cut",
        "png of no size",
        "jpeg of nothing",
        "png too wide",
        "jpeg too high",
        "too large",
        "bmp",
    ],
)
def test_an_image_that_a_provider_would_refuse_is_told_of_in_words(
    content: bytes, says: str, project: Path
) -> None:
    """The thread does not get an image with which no later request would be answered."""
    (project / "image").write_bytes(content)
    outcome = call("read", {"path": "image"}, project)
    assert text(outcome).startswith("Read image file [image/")
    assert text(outcome).split("\n")[1] == says
    assert not outcome.is_error


# -- what is neither ----------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"\x7fELF\0\0\0", png(animated=True)], ids=["program", "film"])
def test_a_binary_file_is_said_to_be_one(content: bytes, project: Path) -> None:
    """Bytes that are no text are not shown as text; the model is told what helps."""
    (project / "a.out").write_bytes(content)
    outcome = call("read", {"path": "a.out"}, project)
    assert text(outcome).startswith(f"a.out is a binary file ({len(content)}B), which read does")
    assert "Use bash" in text(outcome)
    assert outcome.is_error


def test_a_directory_is_said_to_be_one(project: Path) -> None:
    """The sentence begins as pi's and names the tool that lists."""
    outcome = call("read", {"path": "."}, project)
    begins = "EISDIR: illegal operation on a directory, read"
    assert text(outcome) == f"{begins}. {project} is a directory: use ls."
    assert outcome.is_error


def test_what_never_ends_is_not_read(project: Path) -> None:
    """A pipe, a device and a socket are refused at once; nobody waits for their other end."""
    os.mkfifo(project / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(project / "socket"))
        for name in ("pipe", "/dev/zero", "socket"):
            outcome = call("read", {"path": name}, project)
            assert outcome.is_error, name


def test_a_file_of_the_system_that_says_no_size_is_read(project: Path) -> None:
    """``/proc`` files have content, though their size is 0."""
    outcome = call("read", {"path": "/proc/self/status", "limit": 1}, project)
    assert text(outcome).startswith("Name:\t")
