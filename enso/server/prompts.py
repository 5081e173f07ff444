"""A prompt on its way to a thread: what it may hold, and how a run is started with it.

The same for a page's form and for JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enso import thread_ids
from enso.host.contract import PromptImage
from enso.server.prompt_images import checked_images
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.slash import SlashDone, run_slash

MAX_MESSAGE_CHARACTERS = 1_000_000


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
    image_names: Sequence[str] = (),
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
        images=checked_images(images, image_names),
        prompt_id=prompt_id,
        new_session_directory=services.new_session_directory(project_id),
    )
    return SlashDone(generation=generation)
