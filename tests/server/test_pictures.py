"""Images are told of in a page, and carried by what is asked for when they are looked at."""

from __future__ import annotations

import base64
import re
import struct

import pytest
from flask.testing import FlaskClient

from enso import wire
from enso.images import SMALL, told_size
from enso.server.pictures import facts, picture_box
from enso.transcript import (
    ImagePart,
    TextPart,
    ToolCallPart,
    TranscriptMessage,
    TranscriptToolResult,
)
from tests.fakes.fake_entries import assistant
from tests.fakes.fake_host import FakeHost
from tests.fakes.scripted_runtime import Reply
from tests.server.conftest import prompt

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + bytes(9000)
DATA = base64.b64encode(PNG).decode()
FRAME = b"\xff\xc2\x00\x11\x08\x00\x05\x00\x06"
HTMX = {"HX-Request": "true", "HX-Request-Type": "partial"}


def prompted(*images: ImagePart) -> TranscriptMessage:
    """A prompt with images behind its text."""
    return TranscriptMessage(id="u1", role="user", parts=(TextPart("What is this?"), *images))


def hrefs(html: str) -> list[str]:
    """Where a page asks for its images."""
    return re.findall(r'hx-get="(/threads/[^"]*/images/[^"]*)" hx-trigger="intersect once', html)


def test_a_page_tells_of_an_image_and_the_fragment_carries_it(
    host: FakeHost, client: FlaskClient
) -> None:
    """Its place is as large as it will be; a browser may keep the fragment, a shared cache not."""
    host.store("t", prompted(ImagePart("image/png", DATA)), assistant("A cat."))
    page = client.get("/threads/t").text
    assert "data:image" not in page
    assert 'width="555" height="416"' in page
    assert "PNG, 640 × 480, 9.0 kB" in page
    (href,) = hrefs(page)
    assert href == "/threads/t/images/u1/1"
    answer = client.get(href, headers={**HTMX, "Accept-Encoding": "gzip"})
    assert f'<img src="data:image/png;base64,{DATA}" width="555" height="416"' in answer.text
    assert "private" in answer.headers["Cache-Control"]
    assert "HX-Request" in answer.headers["Vary"]
    assert "Content-Encoding" not in answer.headers
    whole = client.get(href)
    assert whole.text.startswith("<!doctype html>")
    assert f'<img src="data:image/png;base64,{DATA}"' in whole.text
    assert whole.headers["Cache-Control"] == "no-store"


def test_a_small_image_is_in_its_page(host: FakeHost, client: FlaskClient) -> None:
    """To ask for it would cost more than it does."""
    small = base64.b64encode(PNG[: SMALL // 4 * 3]).decode()
    host.store("t", prompted(ImagePart("image/png", small)), assistant("A dot."))
    page = client.get("/threads/t").text
    assert f'<img src="data:image/png;base64,{small}"' in page
    assert hrefs(page) == []


def test_images_of_a_tool_are_asked_for_at_its_results_entry(
    host: FakeHost, client: FlaskClient
) -> None:
    """Each by its own place, with what a person added to the page's URL."""
    call = ToolCallPart("c1", "read", {"path": "cat.png"})
    image = ImagePart("image/png", DATA)
    host.store(
        "t",
        prompted(),
        TranscriptMessage(id="a1", role="assistant", parts=(call,), stop_reason="tool-use"),
        TranscriptToolResult(
            id="r/1", tool_call_id="c1", tool_name="read", parts=(TextPart("Two:"), image, image)
        ),
        assistant("Cats."),
    )
    page = client.get("/threads/t?theme=x").text
    asked = hrefs(page)
    assert asked == [f"/threads/t/images/r%2F1/{number}?theme=x" for number in (1, 2)]
    assert "data:image" in client.get(asked[1], headers=HTMX).text


def test_a_live_threads_images_are_asked_for_too(host: FakeHost, client: FlaskClient) -> None:
    """The page, the history and the fragment of a thread that is held."""
    host.store("t", prompted(ImagePart("image/png", DATA)), assistant("A cat."))
    reply = Reply.held()
    host.script.add(reply)
    prompt(client, "t", "And now?")
    reply.wait_until_held()
    page = client.get("/threads/t").text
    assert "data:image" not in page
    (href,) = hrefs(page)
    assert f"base64,{DATA}" in client.get(href, headers=HTMX).text
    assert client.get("/threads/t/images/u1/0", headers=HTMX).status_code == 404
    reply.release()


def test_json_has_the_images_inside(host: FakeHost, client: FlaskClient) -> None:
    """A client of the JSON interface reads no fragments."""
    host.store("t", prompted(ImagePart("image/png", DATA)), assistant("A cat."))
    part = client.get("/api/threads/t/history").json["messages"][0]["parts"][1]
    assert part == {
        "type": "image",
        "mimeType": "image/png",
        "url": f"data:image/png;base64,{DATA}",
    }


@pytest.mark.parametrize(
    "mime_type, data, sentence",
    [
        ("image/svg+xml", DATA, "An image of the kind “image/svg+xml” is not shown."),
        ("", DATA, "An image of the kind “unknown” is not shown."),
        ("image/png", f"{DATA[:8000]}<b>{DATA}", "This image is damaged and cannot be shown."),
    ],
)
def test_what_is_not_shown_says_why(
    mime_type: str, data: str, sentence: str, host: FakeHost, client: FlaskClient
) -> None:
    """In the page where that is known, else where the image would have come."""
    host.store("t", prompted(ImagePart(mime_type, data)), assistant("?"))
    page = client.get("/threads/t").text
    fragment = client.get("/threads/t/images/u1/1", headers=HTMX)
    assert fragment.status_code == 200
    assert sentence in fragment.text
    assert "<b>" not in fragment.text
    assert (sentence in page) == (hrefs(page) == [])


@pytest.mark.parametrize(
    "path", ["t/images/u1/0", "t/images/u1/7", "t/images/none/1", "gone/images/u1/1"]
)
def test_an_image_that_is_not_there_is_not_found(
    path: str, host: FakeHost, client: FlaskClient
) -> None:
    """No such part, no such entry, no such thread."""
    host.store("t", prompted(ImagePart("image/png", DATA)), assistant("A cat."))
    assert client.get(f"/threads/{path}", headers=HTMX).status_code == 404
    assert client.get(f"/threads/{path}").status_code == 404


def test_a_very_large_image_waits_until_it_is_asked_for(
    host: FakeHost, client: FlaskClient
) -> None:
    """By its bytes or by its pixels: it does not come by itself."""
    vast = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 30_000, 30_000) + bytes(9000)
    image = ImagePart("image/png", base64.b64encode(vast).decode())
    host.store("t", prompted(image), assistant("Large."))
    page = client.get("/threads/t").text
    assert hrefs(page) == []
    assert 'hx-trigger="click"' in page
    assert "Show the image (PNG, 30,000 × 30,000, 9.0 kB)" in page


@pytest.mark.parametrize(
    "data, size",
    [
        (PNG, (640, 480)),
        (b"GIF89a" + struct.pack("<HH", 7, 9) + bytes(20), (7, 9)),
        (b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x13\0\0", (10, 20)),
        (b"\xff\xd8\xff\xe1\x40\x00" + bytes(0x3FFE) + b"\xff" + FRAME, (6, 5)),
        (b"\xff\xd8" + b"\xff\xe1\x00\x02" * 2000 + FRAME, None),
        (b"\xff\xd8\xff\xe0\x00\x02", None),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(8), None),
        (b"BM" + bytes(60), None),
        (b"", None),
    ],
)  # fmt: skip
def test_a_header_tells_the_size(data: bytes, size: tuple[int, int] | None) -> None:
    """Of the four kinds, however far into the file it stands; of damage, nothing."""
    encoded = base64.b64encode(data)
    assert told_size(encoded) == size
    assert told_size(encoded.decode()) == size
    assert told_size("é" * 40) is None


@pytest.mark.parametrize(
    "size, box",
    [
        ((640, 480), (555, 416)),
        ((3, 2), (3, 2)),
        ((1, 100_000), (1, 416)),
        ((4000, 100), (4000, 100)),
        (None, (320, 200)),
    ],
)
def test_a_place_has_the_images_proportions(
    size: tuple[int, int] | None, box: tuple[int, int]
) -> None:
    """No higher than a message's images are; never without a width."""
    made = picture_box(wire.ImagePlace(entry_id="e", number=0, length=9000, size=size))
    assert (made.width, made.height) == box


def test_an_image_is_told_of_in_a_few_words() -> None:
    """Kind, pixels where they are known, and how much it is."""
    place = wire.ImagePlace(entry_id="e", number=0, length=16_000_000, size=None)
    image = wire.ImagePart(mime_type="image/webp", url="", place=place)
    assert facts(image) == "WEBP, 12 MB"
    small = place.model_copy(update={"length": 400, "size": (1, 2)})
    assert facts(image.model_copy(update={"place": small})) == "WEBP, 1 × 2, 300 bytes"
