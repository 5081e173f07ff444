"""The conversation of a request goes out as the model library made it: plain JSON already.

OpenAI's SDK walks each message once for every type that a message can have, in the event loop: some
0.2 ms a message, while every other thread waits. What is in ``extra_body`` it does not walk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Create = Callable[..., Awaitable[Any]]


def send_as_is(resource: Any, field: str) -> None:
    """Have this SDK resource (with ``create``) send its list ``field`` without walking it."""
    create: Create = resource.create

    async def create_unwalked(**params: Any) -> Any:
        conversation = params.get(field)
        if isinstance(conversation, list):
            params[field] = []
            params["extra_body"] = {**(params.get("extra_body") or {}), field: conversation}
        return await create(**params)

    resource.create = create_unwalked
