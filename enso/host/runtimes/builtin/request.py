"""A request for the next message of a branch: everything that happens before the library is asked.

Owns which key, which endpoint and which conversation a request is made of. Imported only when a
prompt runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelRequest, repair_messages
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from enso.host.runtimes.builtin.answer import Request
from enso.host.runtimes.builtin.connection import Asked, settings_for
from enso.host.runtimes.builtin.context import context_messages, spoken_messages
from enso.host.runtimes.builtin.conversation import library_messages
from enso.host.runtimes.builtin.kept_conversation import KeptConversation
from enso.host.runtimes.builtin.local_model import LocalModel, LocalModelFailed
from enso.host.runtimes.builtin.provider_errors import AnswerFailed
from enso.host.runtimes.builtin.tools import TOOLS
from enso.host.runtimes.models.configuration import Configuration
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.models.provider_keys import Access, KeyMissing, resolve_access
from enso.host.session_context import (
    Stored,
    is_system,
    messages_of,
    role_of,
    session_context,
    system_state,
)
from enso.host.stored_values import object_of, text_of

_LETTERS_OF_AN_IMAGE: Final = 4000
_CHANGING: Final = frozenset({"compaction", "context_edit"})
"""Entries that change what was before them."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A branch as it went to a model: ``turns`` are its messages, one by one.

    The first ``settled`` of them, once repaired, go out as they are, whatever follows them.
    """

    library_model: LibraryModel
    model: Model
    branch: Sequence[Stored]
    parameters: ModelRequestParameters
    turns: list[ModelMessage]
    letters: int
    settled: int = 0


def branch_request(
    library_model: LibraryModel,
    model: Model,
    branch: Sequence[Stored],
    *,
    asked: Asked,
    kept: KeptConversation,
) -> Request:
    """The request for the next message of ``branch``, with the tools that it declares.

    Of a branch that grew since ``kept`` was made, only what came is converted.
    """
    gained = gained_since(kept.last, library_model, model, branch)
    if kept.last is None or gained is None:
        conversion = _converted(library_model, model, branch)
    else:
        conversion = _grown(kept.last, branch, gained)
    messages, settled = _ready(
        conversion.turns, library_model, conversion.parameters, conversion.settled
    )
    kept.last = replace(conversion, settled=settled)
    return Request(
        model=library_model,
        settings=settings_for(model, replace(asked, letters=conversion.letters)),
        messages=messages,
        parameters=conversion.parameters,
    )


def gained_since(
    last: Conversion | None, library_model: LibraryModel, model: Model, branch: Sequence[Stored]
) -> list[Stored] | None:
    """The messages that came since a branch was converted; ``None`` when all are to be again.

    That is when it is another branch, or for another model, or when what came changes what was
    before: a summary, an edit, a system message, the result of an earlier call.
    """
    if last is None or last.library_model is not library_model or last.model != model:
        return None
    known = len(last.branch)
    if known > len(branch) or not all(map(is_, last.branch, branch)):
        return None
    came = branch[known:]
    if any(entry.get("type") in _CHANGING or is_system(entry) for entry in came):
        return None
    gained = [message for entry in came for message in messages_of(entry)]
    return None if gained and role_of(gained[0]) == "toolResult" else gained


def _converted(library_model: LibraryModel, model: Model, branch: Sequence[Stored]) -> Conversion:
    context = session_context(branch)
    state = system_state(context)
    told = context_messages(context, model)
    return Conversion(
        library_model=library_model,
        model=model,
        branch=branch,
        parameters=_parameters(model, state.tools if state else {}),
        turns=library_messages(told, model, system=library_model.system),
        letters=_letters(told),
    )


def _grown(last: Conversion, branch: Sequence[Stored], gained: Sequence[Stored]) -> Conversion:
    told = spoken_messages(gained, last.model)
    new = library_messages(told, last.model, system=last.library_model.system)
    return replace(
        last, branch=branch, turns=[*last.turns, *new], letters=last.letters + _letters(told)
    )


def plain_request(
    library_model: LibraryModel, model: Model, *, system: str, prompt: str, asked: Asked
) -> Request:
    """A request that stands alone: one system message, one prompt, no tools."""
    context: list[Stored] = [
        {"role": "system", "content": system},
        {"role": "user", "content": [{"type": "text", "text": prompt}]},
    ]
    parameters = _parameters(model, {})
    turns = library_messages(context, model, system=library_model.system)
    messages, _ = _ready(turns, library_model, parameters)
    settings = settings_for(model, replace(asked, letters=_letters(context)))
    return Request(model=library_model, settings=settings, messages=messages, parameters=parameters)


def _parameters(model: Model, tools: Mapping[str, Stored]) -> ModelRequestParameters:
    declared = [] if model.local else [tool for name, tool in tools.items() if name in TOOLS]
    return ModelRequestParameters(function_tools=[_declared(tool) for tool in declared])


def _ready(
    turns: list[ModelMessage],
    library_model: LibraryModel,
    parameters: ModelRequestParameters,
    settled: int = 0,
) -> tuple[list[ModelMessage], int]:
    """The conversation as this model takes it: turns that are whole, and what its profile asks.

    And how many of the messages went out as they are; of ``settled`` ones that is known. What a
    profile asks of a message depends on its neighbours at most.
    """
    whole = repair_messages(turns)
    seam = _seam(whole, settled)
    if seam:
        behind = whole[seam:]
        if library_model.prepare_messages(behind, parameters) is behind:
            return whole, len(whole)
    prepared = library_model.prepare_messages(whole, parameters)
    return (whole, len(whole)) if prepared is whole else (repair_messages(prepared), 0)


def _seam(whole: Sequence[ModelMessage], settled: int) -> int:
    """Where a stretch begins that holds all that is not settled, and the two requests before it."""
    requests = [at for at in range(settled) if isinstance(whole[at], ModelRequest)]
    return requests[-2] if len(requests) > 1 else 0


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
