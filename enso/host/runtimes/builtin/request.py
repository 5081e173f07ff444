"""A request for the next message of a branch: everything that happens before the library is asked.

Owns which key, which endpoint and which conversation a request is made of. Imported only when a
prompt runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, repair_messages
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from enso.host.runtimes.builtin.answer import Request
from enso.host.runtimes.builtin.connection import Asked, settings_for
from enso.host.runtimes.builtin.context import context_messages
from enso.host.runtimes.builtin.conversation import library_messages
from enso.host.runtimes.builtin.local_model import LocalModel, LocalModelFailed
from enso.host.runtimes.builtin.provider_errors import AnswerFailed
from enso.host.runtimes.builtin.tools import TOOLS
from enso.host.runtimes.models.configuration import Configuration
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.models.provider_keys import Access, KeyMissing, resolve_access
from enso.host.session_context import Stored, session_context, system_state
from enso.host.stored_values import object_of, text_of

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


def branch_request(
    library_model: LibraryModel, model: Model, branch: Sequence[Stored], *, asked: Asked
) -> Request:
    """The request for the next message of ``branch``, with the tools that it declares."""
    context = session_context(branch)
    state = system_state(context)
    return _request(
        library_model, model, context_messages(context, model), asked, state.tools if state else {}
    )


def plain_request(
    library_model: LibraryModel, model: Model, *, system: str, prompt: str, asked: Asked
) -> Request:
    """A request that stands alone: one system message, one prompt, no tools."""
    context: list[Stored] = [
        {"role": "system", "content": system},
        {"role": "user", "content": [{"type": "text", "text": prompt}]},
    ]
    return _request(library_model, model, context, asked, {})


def _request(
    library_model: LibraryModel,
    model: Model,
    context: Sequence[Stored],
    asked: Asked,
    tools: Mapping[str, Stored],
) -> Request:
    declared = [] if model.local else [tool for name, tool in tools.items() if name in TOOLS]
    parameters = ModelRequestParameters(function_tools=[_declared(tool) for tool in declared])
    return Request(
        model=library_model,
        settings=settings_for(model, replace(asked, letters=_letters(context))),
        messages=_ready(
            library_messages(context, model, system=library_model.system), library_model, parameters
        ),
        parameters=parameters,
    )


def _ready(
    messages: list[ModelMessage], library_model: LibraryModel, parameters: ModelRequestParameters
) -> list[ModelMessage]:
    """The conversation as this model takes it: turns that are whole, and what its profile asks."""
    whole = repair_messages(messages)
    prepared = library_model.prepare_messages(whole, parameters)
    return whole if prepared is whole else repair_messages(prepared)


def _declared(tool: Stored) -> ToolDefinition:
    """A tool as the provider is told of it; calls are run by Enso, not by the library."""
    return ToolDefinition(
        name=text_of(tool.get("name")),
        description=text_of(tool.get("description")),
        parameters_json_schema=dict(object_of(tool.get("parameters"))),
        strict=False,
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
