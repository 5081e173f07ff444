"""The description of the JSON interface, made from the wire shapes and one table of endpoints."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from enso import wire
from enso.server.actions import ACTIONS
from enso.server.formats import FORMATS, MEDIA_TYPES
from enso.server.tree import FILTERS
from enso.server.tree_pages import MAX_START

THREAD_ID = {
    "name": "threadId",
    "in": "path",
    "required": True,
    "description": "The thread's id, which is its session's.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}
QUERY = {
    "name": "q",
    "in": "query",
    "required": False,
    "description": "Only threads with all of these words in title, name or project.",
    "schema": {"type": "string", "maxLength": 500},
}
TREE_FILTER = {
    "name": "filter",
    "in": "query",
    "required": False,
    "description": "Which entries are shown.",
    "schema": {"type": "string", "enum": list(FILTERS), "default": "default"},
}
TREE_START = {
    "name": "start",
    "in": "query",
    "required": False,
    "description": "The first entry of the window; without it the window holds the present place.",
    "schema": {"type": "integer", "minimum": 0, "maximum": MAX_START},
}


FORMAT = {
    "name": "format",
    "in": "query",
    "required": False,
    "description": "html when it is not given.",
    "schema": {"type": "string", "enum": list(FORMATS)},
}
KEEP = {
    "name": "keep",
    "in": "query",
    "required": False,
    "description": "1: keys and tokens that are found stay in it.",
    "schema": {"type": "string", "enum": ["0", "1"]},
}
WORDS = {
    "name": "q",
    "in": "query",
    "required": False,
    "description": "Words, each by its beginning; between quotation marks they follow one another.",
    "schema": {"type": "string", "maxLength": 500},
}
LIMIT = {
    "name": "limit",
    "in": "query",
    "required": False,
    "description": "In how many threads at most it is to be found; 20 when it is not said.",
    "schema": {"type": "integer", "minimum": 1, "maximum": 100},
}

BAD_BODY = (
    (400, "The body or the id is not right; the message says what."),
    (415, "Not JSON."),
    (503, "The server is stopping."),
)


NOT_THERE = (
    (403, "It belongs to a directory that is not served, which is named."),
    (404, "There is no such thing."),
)


def _id_parameter(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One operation: where it is, what it takes, what it answers, and how it refuses.

    ``files`` are the media types of an answer that is a file; ``streams``: of server-sent events.
    """

    method: str
    path: str
    summary: str
    answer: type[BaseModel] | None
    status: int = 200
    body: type[BaseModel] | None = None
    streams: bool = False
    parameters: tuple[dict[str, Any], ...] = ()
    refusals: tuple[tuple[int, str], ...] = ()
    files: tuple[str, ...] = ()


ENDPOINTS = (
    Endpoint(
        method="get",
        path="/api/stored-threads",
        summary="The stored threads, newest first.",
        answer=wire.StoredThreads,
        parameters=(QUERY,),
        refusals=((400, "The query is too long."),),
    ),
    Endpoint(
        method="get",
        path="/api/find",
        summary="Passages of stored threads that hold all words of a query, the newest first.",
        answer=wire.Found,
        parameters=(WORDS, LIMIT),
        refusals=((400, "The query is too long, or the limit is none."),),
    ),
    Endpoint(method="get", path="/api/threads", summary="The live threads.", answer=wire.Threads),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}",
        summary="One live thread in full.",
        answer=wire.ThreadInspection,
        parameters=(THREAD_ID,),
        refusals=((404, "Not live on this server."),),
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/history",
        summary="A thread's messages, live or cold.",
        answer=wire.History,
        parameters=(THREAD_ID,),
        refusals=NOT_THERE,
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/stats",
        summary="What a thread used, live or cold: altogether, by request, by turn, by tool.",
        answer=wire.ThreadStats,
        parameters=(THREAD_ID,),
        refusals=NOT_THERE,
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/context",
        summary="What the model was shown at each request of a thread, live or cold, in sizes.",
        answer=wire.ThreadContext,
        parameters=(THREAD_ID,),
        refusals=NOT_THERE,
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/context/{requestId}",
        summary="One request of a thread, element by element.",
        answer=wire.RequestDetail,
        parameters=(
            THREAD_ID,
            _id_parameter("requestId", "The request's number from 1 on, or `next`."),
        ),
        refusals=NOT_THERE,
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/entries/{entryId}",
        summary="One entry of a thread as it is stored, to be looked at.",
        answer=wire.StoredEntry,
        parameters=(THREAD_ID, _id_parameter("entryId", "The entry's id.")),
        refusals=NOT_THERE,
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/export",
        summary="A thread as a file: one HTML page, Markdown, or the log itself.",
        answer=None,
        files=tuple(MEDIA_TYPES.values()),
        parameters=(THREAD_ID, FORMAT),
        refusals=(
            (400, "The format is none of these."),
            *NOT_THERE,
        ),
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/bundle.zip",
        summary="One zip for a bug report, without keys and tokens unless they are kept.",
        answer=None,
        files=("application/zip",),
        parameters=(THREAD_ID, KEEP),
        refusals=((400, "keep is neither 0 nor 1."), *NOT_THERE),
    ),
    Endpoint(
        method="post",
        path="/api/threads/{threadId}/prompt",
        summary="Start a run on a thread, which is opened or created under this id.",
        answer=wire.PromptAccepted,
        status=202,
        body=wire.PromptRequest,
        parameters=(THREAD_ID,),
        refusals=(
            (400, "The body or the id is not right; the message says what."),
            (409, "Not now, and why: busy, no model, a directory that is gone."),
            (413, "Too large."),
            (415, "Not JSON."),
            (503, "The server is stopping."),
        ),
    ),
    Endpoint(
        method="post",
        path="/api/agui",
        summary="One run of the AG-UI protocol over the thread that it names.",
        answer=None,
        body=wire.AguiRun,
        streams=True,
        refusals=(
            *BAD_BODY,
            (409, "Not now, and why: busy, no model, answered already."),
            (413, "Too large."),
        ),
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/commands",
        summary="The slash commands of a thread.",
        answer=wire.Commands,
        parameters=(THREAD_ID,),
        refusals=((400, "The id is none."), (403, "Its directory is not served.")),
    ),
    Endpoint(
        method="get",
        path="/api/threads/{threadId}/tree",
        summary="A window of a thread's whole tree, live or cold, around where the thread is now.",
        answer=wire.ThreadTree,
        parameters=(THREAD_ID, TREE_FILTER, TREE_START),
        refusals=(
            (400, "The id, the filter or the start is none."),
            (403, "It belongs to a directory that is not served, which is named."),
            (404, "Neither live nor stored."),
            (409, "It is being changed: try again."),
        ),
    ),
    Endpoint(
        method="get",
        path="/api/models",
        summary="The models that can be chosen.",
        answer=wire.Models,
    ),
    Endpoint(
        method="get",
        path="/api/waiting",
        summary="Every dialog that waits for a person, oldest first.",
        answer=wire.Waiting,
    ),
    Endpoint(
        method="post",
        path="/api/threads/{threadId}/dialogs/{dialogId}",
        summary="Answer a dialog; the first answer counts.",
        answer=wire.Done,
        status=202,
        body=wire.DialogAnswer,
        parameters=(THREAD_ID, _id_parameter("dialogId", "The dialog's id.")),
        refusals=(*BAD_BODY, (409, "It was answered already, or nothing waits.")),
    ),
    Endpoint(
        method="post",
        path="/api/threads/{threadId}/queue/{itemId}/take-back",
        summary="Take a queued prompt out again.",
        answer=wire.QueuedPrompt,
        status=202,
        parameters=(THREAD_ID, _id_parameter("itemId", "The queued prompt's id.")),
        refusals=((400, "The id is none."), (409, "It was delivered, or is gone.")),
    ),
    *(
        Endpoint(
            method="post",
            path=f"/api/threads/{{threadId}}/{action.path}",
            summary=action.summary,
            answer=wire.Done,
            status=202,
            body=action.body,
            parameters=(THREAD_ID,),
            refusals=(*BAD_BODY, *action.refusals),
        )
        for action in ACTIONS
    ),
)


def _content(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done."}
    if endpoint.streams:
        answer["content"] = {"text/event-stream": {}}
    if endpoint.answer is not None:
        answer["content"] = _content(endpoint.answer)
    if endpoint.files:
        answer["content"] = {kind: {"schema": {"type": "string"}} for kind in endpoint.files}
    responses: dict[str, Any] = {str(endpoint.status): answer}
    doors = ((401, "A token is needed."), (403, "From a page of another site."))
    for status, why in (*doors, *endpoint.refusals):
        responses[str(status)] = {"description": why, "content": _content(wire.Error)}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "responses": responses,
        "parameters": list(endpoint.parameters),
    }
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(endpoint.body)}
    return operation


@cache
def openapi_document() -> str:
    """The description as JSON text (OpenAPI 3.1)."""
    answers = [endpoint.answer for endpoint in ENDPOINTS if endpoint.answer]
    bodies = [endpoint.body for endpoint in ENDPOINTS if endpoint.body]
    frames: list[type[BaseModel]] = [wire.SnapshotFrame, wire.StatusFrame, wire.MessageFrame]
    _, schemas = models_json_schema(
        [
            *((model, "serialization") for model in (*answers, *frames, wire.Error)),
            *((model, "validation") for model in bodies),
        ],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method] = _operation(endpoint)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Enso",
            "version": "1",
            "description": "Threads of a coding agent: list, read, prompt. "
            "Frames of a thread come over the websocket /api/threads/{threadId}/follow.",
        },
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }
    return json.dumps(document)
