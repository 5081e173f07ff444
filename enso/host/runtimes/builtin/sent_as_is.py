"""What the model library made of a request goes out as it is: plain JSON already.

The SDKs walk a conversation once more in the event loop, while every other thread waits: OpenAI's
takes some 0.2 ms a message and 3 ms for the tools, Google's 0.15 ms a message. What they are given
as ``extra_body`` they do not walk.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast

Create = Callable[..., Awaitable[Any]]

# A part's fields as Google's endpoint names them; one that is not here is left to the SDK.
_PART_FIELDS: Final[Mapping[str, str]] = {
    "text": "text",
    "thought": "thought",
    "thought_signature": "thoughtSignature",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
}
_STAND_IN: Final = {"role": "user", "parts": [{"text": "-"}]}


def send_as_is(resource: Any, *fields: str) -> None:
    """Have this SDK resource (with ``create``) send these list fields without walking them."""
    create: Create = resource.create

    async def create_unwalked(**params: Any) -> Any:
        unwalked = {name: params[name] for name in fields if isinstance(params.get(name), list)}
        if unwalked:
            params |= {name: [] for name in unwalked}
            params["extra_body"] = {**(params.get("extra_body") or {}), **unwalked}
        return await create(**params)

    resource.create = create_unwalked


def send_contents_as_is(models: Any) -> None:
    """Have Google's SDK (its ``aio.models``) send a conversation without walking it."""
    ask: Create = models.generate_content_stream

    async def ask_unwalked(*, contents: Any, config: dict[str, Any], **params: Any) -> Any:
        plain = plain_contents(contents)
        if plain is None:
            return await ask(contents=contents, config=config, **params)
        options: dict[str, Any] = config.get("http_options") or {}
        body: dict[str, Any] = {**(options.get("extra_body") or {}), "contents": plain}
        sent: dict[str, Any] = {**config, "http_options": {**options, "extra_body": body}}
        return await ask(contents=[_STAND_IN], config=sent, **params)

    models.generate_content_stream = ask_unwalked


def plain_contents(contents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """A conversation as Google's endpoint takes it; ``None`` when it holds what is not known here.

    The library gives Python's names, and bytes.
    """
    plain: list[dict[str, Any]] = []
    for content in contents:
        parts = [_plain_part(part) for part in content.get("parts") or ()]
        if not all(parts) or not content.keys() <= {"role", "parts"}:
            return None
        plain.append({"parts": parts, "role": content.get("role")})
    return plain


def _plain_part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    if not part.keys() <= _PART_FIELDS.keys():
        return None
    return {_PART_FIELDS[name]: _plain(value) for name, value in part.items() if value is not None}


def _plain(value: Any) -> Any:
    """A value with its bytes as text, also further within."""
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(one) for one in cast("list[Any]", value)]
    return value
