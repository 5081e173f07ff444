"""What an SDK is kept from walking goes out exactly as the SDK itself would have sent it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.genai import Client
from google.genai.types import HttpOptions
from openai import AsyncOpenAI

from enso.host.runtimes.builtin.sent_as_is import (
    plain_contents,
    send_as_is,
    send_contents_as_is,
)
from tests.model_server import ModelServer, Request

PICTURE = b"\x89PNG\r\n\xff\xfe\xfd"
CONTENTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Look: ü 漢 𝄞"}]},
    {
        "role": "user",
        "parts": [{"inline_data": {"data": PICTURE, "mime_type": "image/png"}}, {"text": "?"}],
    },
    {
        "role": "model",
        "parts": [
            {"text": "I think.", "thought": True},
            {
                "function_call": {"name": "read", "args": {"path": "a", "n": 1.5}, "id": "c1"},
                "thought_signature": b"\x00\xffsigned",
            },
        ],
    },
    {
        "role": "user",
        "parts": [
            {
                "function_response": {
                    "name": "read",
                    "response": {"output": {"snake_case": [1, "two", {"deep_er": False}]}},
                    "id": "c1",
                    "parts": [{"inline_data": {"data": PICTURE, "mime_type": "image/png"}}],
                }
            }
        ],
    },
]
UNKNOWN = [{"role": "user", "parts": [{"file_data": {"file_uri": "gs://a/b", "mime_type": "c/d"}}]}]
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be exact."},
    {"role": "user", "content": [{"type": "text", "text": "Look: ü 漢 𝄞"}]},
    {"role": "assistant", "content": None, "tool_calls": []},
]
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
]


def google(server: ModelServer, contents: Any, *, as_is: bool) -> Request:
    """The request that Google's SDK makes of these contents."""

    async def ask() -> None:
        options = HttpOptions(base_url=f"{server.url}/v1beta", api_version="")
        sdk = Client(vertexai=False, api_key="lab-key", http_options=options)
        if as_is:
            send_contents_as_is(sdk.aio.models)
        config: Any = {"temperature": 0.5, "http_options": {"headers": {"x-lab": "1"}}}
        models: Any = sdk.aio.models
        async for _ in await models.generate_content_stream(
            model="lab-gemini", contents=contents, config=config
        ):
            pass
        await sdk.aio.aclose()

    asyncio.run(ask())
    return server.requests()[-1]


@pytest.mark.parametrize("contents", [CONTENTS, UNKNOWN])
def test_google_is_sent_what_its_sdk_would_send(server: ModelServer, contents: Any) -> None:
    """Text, thinking, signatures, calls, results and images; what is not known here as well."""
    walked = google(server, contents, as_is=False)
    as_is = google(server, contents, as_is=True)
    assert as_is.body == walked.body
    assert (as_is.path, as_is.headers["x-lab"]) == (walked.path, walked.headers["x-lab"])


def test_only_what_is_known_is_made_plain() -> None:
    """A part or a content of a kind that is not known here is left to the SDK, with all others."""
    assert plain_contents(CONTENTS) is not None
    assert plain_contents([*CONTENTS, *UNKNOWN]) is None
    assert plain_contents([*CONTENTS, {"role": "user", "parts": [], "more": 1}]) is None
    assert plain_contents([*CONTENTS, {"role": "user", "parts": [{}]}]) is None


class Resource:
    """Takes the place of an SDK's resource: keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def create(self, **params: Any) -> None:
        """OpenAI's way to ask."""
        self.asked.append(params)

    async def generate_content_stream(self, **params: Any) -> None:
        """Google's way to ask."""
        self.asked.append(params)


def test_an_sdk_is_given_nothing_to_walk() -> None:
    """However long a conversation is, what an SDK walks does not grow with it."""
    openai, gemini = Resource(), Resource()
    send_as_is(openai, "messages", "tools")
    send_contents_as_is(gemini)
    asyncio.run(openai.create(model="m", messages=MESSAGES * 100, tools=TOOLS))
    asyncio.run(gemini.generate_content_stream(model="m", contents=CONTENTS * 100, config={}))
    assert [openai.asked[0]["messages"], openai.asked[0]["tools"]] == [[], []]
    assert openai.asked[0]["extra_body"] == {"messages": MESSAGES * 100, "tools": TOOLS}
    assert len(gemini.asked[0]["contents"]) == 1
    body = gemini.asked[0]["config"]["http_options"]["extra_body"]
    assert len(body["contents"]) == len(CONTENTS) * 100


def test_openai_is_sent_what_its_sdk_would_send(server: ModelServer) -> None:
    """Messages and tools, with what else is asked for beside them."""

    async def ask(*, as_is: bool) -> None:
        sdk = AsyncOpenAI(api_key="lab-key", base_url=f"{server.url}/v1", max_retries=0)
        if as_is:
            send_as_is(sdk.chat.completions, "messages", "tools")
        given: Any = {"messages": MESSAGES, "tools": TOOLS, "extra_body": {"top_k": 3}}
        async for _ in await sdk.chat.completions.create(model="m", stream=True, **given):
            pass
        await sdk.close()

    asyncio.run(ask(as_is=False))
    asyncio.run(ask(as_is=True))
    walked, as_is = server.requests()[-2:]
    assert as_is.body == walked.body
