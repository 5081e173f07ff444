"""Images of a prompt: what no provider takes is refused by name, before a thread can hold it."""

from __future__ import annotations

import base64
from io import BytesIO

import pytest
from flask.testing import FlaskClient

from enso.host.contract import PromptImage
from enso.images import MAX_IMAGE_BYTES, MAX_TOGETHER
from enso.server.prompt_images import checked_images, megabytes
from enso.server.refusals import Refused
from tests.fakes.fake_host import FakeHost
from tests.look.scenes import png


def image(data: bytes, kind: str = "image/png") -> PromptImage:
    """Bytes as an image of a prompt."""
    return PromptImage(kind, base64.b64encode(data).decode())


def picture(width: int = 2, height: int = 2) -> bytes:
    """A PNG."""
    return base64.b64decode(png(width, height).data)


@pytest.mark.parametrize(
    "given,status,said",
    [
        (image(b"%PDF", "application/pdf"), 400, "“a.png” is of the kind “application/pdf”"),
        (
            image(picture() + bytes(MAX_IMAGE_BYTES)),
            413,
            "has 3.6 MB; an image may have at most",
        ),
        (
            image(picture(9000, 1)),
            413,
            "9,000 × 1 pixels; a side may have at most 8,000.",
        ),
        (image(b"no image at all"), 400, "“a.png” cannot be read as an image"),
        (image(picture()[:-20]), 400, "“a.png” cannot be read as an image"),
        (PromptImage("image/png", "%%%"), 400, "“a.png” cannot be read as an image"),
        (image(picture(), "image/svg+xml"), 400, "use PNG, JPEG, GIF or WebP"),
    ],
)
def test_an_image_that_no_provider_takes_is_refused_by_name(
    given: PromptImage, status: int, said: str
) -> None:
    """The sentence holds the file's name, the limit, and what to do."""
    with pytest.raises(Refused) as refused:
        checked_images([given], ["a.png"])
    assert refused.value.status == status
    assert said in refused.value.sentence


def test_what_fits_goes_through_up_to_the_last_byte() -> None:
    """An image of exactly the limit, and as many as one prompt takes."""
    largest = picture()
    largest = largest[:-12] + bytes(MAX_IMAGE_BYTES - len(largest)) + largest[-12:]
    assert len(largest) == MAX_IMAGE_BYTES
    given = [image(largest), *[image(picture())] * 15]
    assert checked_images(given) == given


def test_too_many_and_too_much_together_are_counted() -> None:
    """Seventeen are one too many; six large ones are more than a request can hold."""
    with pytest.raises(Refused, match="These are 17 images; one prompt takes at most 16"):
        checked_images([image(picture())] * 17)
    large = image(picture() + bytes(MAX_IMAGE_BYTES - 200) + picture()[-12:])
    assert 6 * len(large.data) * 3 // 4 > MAX_TOGETHER
    with pytest.raises(Refused, match=r"Together the images have 21\.3 MB"):
        checked_images([large] * 6)


def test_an_image_without_a_name_is_named_by_its_number() -> None:
    """As a program sends them."""
    with pytest.raises(Refused, match="Image 2 cannot be read"):
        checked_images([image(picture()), image(b"?")])


def test_a_size_is_never_said_to_be_its_own_limit() -> None:
    """What is too large is rounded up, the limit down."""
    assert megabytes(MAX_IMAGE_BYTES + 1) == "3.6 MB"
    assert megabytes(MAX_IMAGE_BYTES, whole=False) == "3.5 MB"
    assert megabytes(20_000_000) == "20 MB"


def test_a_plain_form_keeps_its_text_and_says_to_choose_again(
    host: FakeHost, client: FlaskClient
) -> None:
    """The page comes back with the sentence; what was typed is in the box."""
    form = {"message": "What is this?", "images": (BytesIO(b"x"), "scan.tiff", "image/tiff")}
    answer = client.post("/threads/t1/prompt", data=form)
    assert answer.status_code == 400
    assert "“scan.tiff” is of the kind “image/tiff”" in answer.text
    assert "Then choose the images again" in answer.text
    assert "What is this?</textarea>" in answer.text
    assert host.stored_thread("t1") is None
