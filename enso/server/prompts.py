"""A prompt on its way to a thread: what it may hold, and how a run is started with it.

The same for a page's form and for JSON.
"""

from __future__ import annotations

from collections.abc import Iterable

from enso import thread_ids
from enso.host.contract import PromptImage
from enso.server.messages import SHOWN_IMAGE_TYPES
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.slash import SlashDone, run_slash

MAX_MESSAGE_CHARACTERS = 1_000_000
MAX_IMAGES = 16
MAX_IMAGE_BYTES = 10 * 1024 * 1024


def checked_message(message: str, images: Iterable[PromptImage]) -> str:
    """A prompt's text with the line ends of the form made plain; raises ``Refused`` for none."""
    text = message.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip() and not list(images):
        raise Refused(400, "empty-prompt", "Write something first, or add an image.")
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise Refused(
            413,
            "prompt-too-long",
            f"That is {len(text):,} characters; one prompt takes at most "
            f"{MAX_MESSAGE_CHARACTERS:,}. Put the text into a file of the project instead.",
        )
    return text


def checked_images(images: list[PromptImage]) -> list[PromptImage]:
    """A prompt's images; raises ``Refused`` naming the kind, size or number that is too much."""
    if len(images) > MAX_IMAGES:
        raise Refused(413, "too-many-images", f"One prompt takes at most {MAX_IMAGES} images.")
    for image in images:
        if image.mime_type not in SHOWN_IMAGE_TYPES:
            raise Refused(
                400,
                "image-kind",
                f"An image of the kind “{image.mime_type[:80]}” cannot be sent: "
                "use PNG, JPEG, GIF or WebP.",
            )
        if len(image.data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
            raise Refused(413, "image-too-large", "An image may have at most 10 MB.")
    return images


def checked_id(thread_id: str) -> str:
    """A thread id that may be one; raises ``Refused`` 400."""
    if not thread_ids.is_thread_id(thread_id):
        raise Refused(400, "malformed-id", thread_ids.refused_id_sentence(thread_id))
    return thread_id


def start_prompt(
    services: Services,
    thread_id: str,
    *,
    message: str,
    images: list[PromptImage],
    prompt_id: str | None,
    project_id: str | None,
) -> SlashDone:
    """Start a run on a thread, or do the slash command that the message is.

    From a form or from JSON alike; the answer's generation is the run's, 0 when none was started.
    """
    checked_id(thread_id)
    text = checked_message(message, images)
    done = run_slash(services, thread_id, text, project_id) if not images else None
    if done is not None:
        return done
    generation = services.registry.prompt(
        thread_id,
        message=text,
        images=checked_images(images),
        prompt_id=prompt_id,
        new_session_directory=services.new_session_directory(project_id),
    )
    return SlashDone(generation=generation)
