"""What a prompt adds to a branch, in pi's order: model, level, system message, the message itself.

Owns what has to stand before a prompt, and what is said of images that a model cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from enso.host.contract import PromptImage, RunNotice
from enso.host.runtimes.builtin.prompt_queue import Waiting
from enso.host.runtimes.builtin.system_prompt import declared_tools, system_message
from enso.host.runtimes.builtin.thread_log import ThreadLog, now_ms
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.thread_settings import thread_level, thread_model


class PromptStore:
    """Stores the prompts of one run; ``sections`` are the system message's, for ``model``.

    ``expand`` gives what a queued message stands for, when it is delivered.
    """

    def __init__(
        self,
        log: ThreadLog,
        message: dict[str, Any],
        *,
        model: Model,
        level: str,
        sections: Mapping[str, str],
        expand: Callable[[str], str],
    ) -> None:
        self._log = log
        self._message = message
        self._expand = expand
        self._model = model
        self._level = level
        self._sections = sections

    def first(self) -> None:
        """Store the prompt that the run began with; on disk at once if there is a file."""
        model, branch = self._model, self._log.session.branch()
        if thread_model(branch) != (model.provider, model.id):
            self._log.store("model_change", {"provider": model.provider, "modelId": model.id})
        if thread_level(branch) is None:
            self._log.store("thinking_level_change", {"thinkingLevel": self._level})
        system = system_message(branch, self._sections, declared_tools(model))
        if system is not None:
            self._log.store("message", {"message": system})
        self._store(self._message)

    def queued(self, waiting: Waiting) -> None:
        """Store a queued message that is delivered now."""
        self._store(user_message(self._expand(waiting.item.message), waiting.images))

    def _store(self, message: Mapping[str, Any]) -> None:
        self._log.store("message", {"message": message})
        model = self._model
        has_image = any(block["type"] == "image" for block in message["content"])
        if has_image and model.described and not model.images:
            sentence = f"{model.label} sees no images: it is told that there was one."
            self._log.tell(RunNotice(sentence))


def user_message(message: str, images: Sequence[PromptImage]) -> dict[str, Any]:
    """A prompt as it is stored."""
    content: list[dict[str, Any]] = [{"type": "text", "text": message}]
    content += [
        {"type": "image", "data": image.data, "mimeType": image.mime_type} for image in images
    ]
    return {"role": "user", "content": content, "timestamp": now_ms()}
