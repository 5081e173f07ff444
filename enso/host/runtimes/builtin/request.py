"""A request for the next message of a branch: everything that happens before the library is asked.

Owns which key, which endpoint and which conversation a request is made of. Imported only when a
prompt runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from enso.host.runtimes.builtin.answer import Request
from enso.host.runtimes.builtin.configuration import Configuration
from enso.host.runtimes.builtin.connection import Asked, Connections, settings_for
from enso.host.runtimes.builtin.context import context_messages
from enso.host.runtimes.builtin.conversation import library_messages
from enso.host.runtimes.builtin.local_model import LocalModel, LocalModelFailed
from enso.host.runtimes.builtin.model import Model
from enso.host.runtimes.builtin.provider_errors import AnswerFailed
from enso.host.runtimes.builtin.provider_keys import Access, KeyMissing, resolve_access

_LETTERS_OF_AN_IMAGE: Final = 4000


def reachable(
    model: Model, configuration: Configuration, local: LocalModel
) -> tuple[Model, Access]:
    """The model with its endpoint, and what lets a request in. Blocks: a key's command, a start.

    Raises ``AnswerFailed`` with the text to store.
    """
    if model.local:
        try:
            endpoint = local.endpoint()
        except LocalModelFailed as error:
            raise AnswerFailed(f"Connection error.: {error}") from error
        access = Access(key=endpoint.key, headers={})
        return replace(model, base_url=endpoint.base_url), access
    try:
        return model, resolve_access(configuration, model)
    except KeyMissing as error:
        raise AnswerFailed(f"No API key for provider: {model.provider}: {error}") from error


def build_request(
    connections: Connections,
    model: Model,
    access: Access,
    branch: Sequence[Mapping[str, Any]],
    *,
    level: str,
    thread_id: str,
) -> Request:
    """The request for the next message of ``branch``."""
    library_model = connections.model(model, access)
    context = context_messages(branch, model)
    asked = Asked(level=level, letters=_letters(context), thread_id=thread_id)
    return Request(
        model=library_model,
        settings=settings_for(model, asked),
        messages=library_messages(context, model, system=library_model.system),
    )


def _letters(context: Sequence[Mapping[str, Any]]) -> int:
    """About how long a conversation is for a model."""
    total = 0
    for message in context:
        content: Any = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            image = block.get("type") == "image"
            total += _LETTERS_OF_AN_IMAGE if image else sum(len(str(v)) for v in block.values())
    return total
