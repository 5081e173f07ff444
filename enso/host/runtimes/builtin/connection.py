"""A model of ours as a model of the library: its client, its settings, its quirks.

Owns what is sent besides the conversation: keys and headers, thinking effort, sampling, caching. An
SDK retries nothing, so that every refused attempt is seen, and takes no key from the environment by
itself. Imported only when a prompt runs.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from enso.host.runtimes.builtin.library import stays
from enso.host.runtimes.builtin.sending import watch
from enso.host.runtimes.builtin.sent_as_is import send_as_is, send_contents_as_is
from enso.host.runtimes.builtin.timeouts import Timeouts
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.models.provider_keys import Access

_NO_KEY: Final = "unused"
_KEPT_MODELS: Final = 8
_KEPT_DECLARATIONS: Final = 4
_THINKING_BUDGETS: Final[Mapping[str, int]] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 16384,
    "max": 16384,
}
_ROOM_FOR_THE_ANSWER: Final = 1024
_DEFAULT_MAX_TOKENS: Final = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one request asks for: the thinking level; ``letters`` is the conversation's length."""

    level: str
    thread_id: str
    letters: int = 0


class Connections:
    """The HTTP clients of one event loop, shared by all its requests."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._lock = threading.Lock()
        self._clients: dict[bool, httpx2.AsyncClient] = {}
        self._built: list[tuple[Model, Access, LibraryModel]] = []
        self._loaded: set[str] = set()
        self.builds = 0

    def built(self, model: Model, access: Access) -> LibraryModel | None:
        """The library's model if it was built for the same model, key and headers; never blocks."""
        with self._lock:
            for known, let_in, library_model in self._built:
                if known == model and let_in == access:
                    return library_model
        return None

    def model(self, model: Model, access: Access) -> LibraryModel:
        """The library's model for requests to this model; built once. May load a protocol's SDK."""
        known = self.built(model, access)
        if known is not None:
            return known
        library_model = self._build(model, access)
        self._have_loaded(model.api)
        with self._lock:
            self.builds += 1
            self._built = [*self._built[1 - _KEPT_MODELS :], (model, access, library_model)]
        return library_model

    def prepare(self, model: Model) -> None:
        """Do now what the first request to this model would wait for; may block.

        Its protocol's SDK is loaded and the client made. No key is read, so no model is kept.
        """
        self._build(model, Access(key=None, headers={}))
        self._have_loaded(model.api)

    def _have_loaded(self, api: str) -> None:
        """With the first model of a protocol came its SDK."""
        with self._lock:
            known = api in self._loaded
            self._loaded.add(api)
        if not known:
            stays()

    def _build(self, model: Model, access: Access) -> LibraryModel:
        build = {
            "openai-completions": _chat_model,
            "openai-responses": _responses_model,
            "anthropic-messages": _anthropic_model,
            "google-generative-ai": _google_model,
        }[model.api]
        headers = dict(access.headers)
        if model.auth_header and access.key:
            headers.setdefault("Authorization", f"Bearer {access.key}")
        client = self._client(direct=model.local)
        built = build(model, access.key or _NO_KEY, headers, client)
        _declare_tools_once(built)
        return built

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()
        self._built.clear()

    def _client(self, *, direct: bool) -> httpx2.AsyncClient:
        """A client; ``direct`` ones take no proxy from the environment."""
        with self._lock:
            if direct not in self._clients:
                self._clients[direct] = httpx2.AsyncClient(
                    timeout=self._timeout(),
                    trust_env=not direct,
                    follow_redirects=True,
                    event_hooks={"request": [self._prepare]},
                )
            return self._clients[direct]

    def _timeout(self) -> httpx2.Timeout:
        return httpx2.Timeout(self._timeouts.silence, connect=self._timeouts.connect)

    async def _prepare(self, request: httpx2.Request) -> None:
        """Every SDK sends timeouts of its own along: ours hold."""
        request.extensions["timeout"] = self._timeout().as_dict()
        watch(request)


def settings_for(model: Model, asked: Asked) -> ModelSettings:
    """What the library is told about one request."""
    settings: dict[str, Any] = {}
    match model.api:
        case "openai-completions" | "openai-responses":
            settings |= _openai_settings(model, asked)
        case "anthropic-messages":
            settings |= _anthropic_settings(model, asked)
        case "google-generative-ai":
            settings |= _thinking_by_library(asked.level)
    return cast("ModelSettings", settings)


def _declare_tools_once(library_model: LibraryModel) -> None:
    """Have the tools' schemas brought into the model's form once, and not for every request.

    Threads declare the same tools; the library changes nothing in what this gives.
    """
    customize = library_model.customize_request_parameters
    known: list[tuple[ModelRequestParameters, ModelRequestParameters]] = []

    def customized(
        model_request_parameters: ModelRequestParameters,
    ) -> ModelRequestParameters:
        for before, after in known:
            if before == model_request_parameters:
                return after
        after = customize(model_request_parameters)
        known[:] = [*known[1 - _KEPT_DECLARATIONS :], (model_request_parameters, after)]
        return after

    library_model.customize_request_parameters = customized


# -- the four protocols ---------------------------------------------------------------------------


def _openai_provider(
    model: Model, key: str, headers: Mapping[str, str], client: httpx2.AsyncClient
) -> Any:
    from openai import AsyncOpenAI  # noqa: PLC0415 - a protocol that is not used is not loaded
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    sdk = AsyncOpenAI(
        api_key=key,
        base_url=model.base_url,
        http_client=client,
        default_headers=headers,
        max_retries=0,
    )
    if model.api == "openai-responses":
        send_as_is(sdk.responses, "input", "tools")
    else:
        send_as_is(sdk.chat.completions, "messages", "tools")
    if model.provider == "openai":
        return OpenAIProvider(openai_client=sdk)
    # What the environment says of an account with OpenAI is for OpenAI.
    sdk.organization, sdk.project = None, None
    return OpenAICompatibleProvider(model.provider, openai_client=sdk)


def _chat_model(
    model: Model, key: str, headers: Mapping[str, str], client: httpx2.AsyncClient
) -> LibraryModel:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415

    profile: dict[str, Any] = {}
    if model.described:
        profile["supports_thinking"] = model.reasoning
        field = model.compat.get("maxTokensField")
        profile["openai_chat_supports_max_completion_tokens"] = field != "max_tokens"
    role = model.compat.get("supportsDeveloperRole")
    if isinstance(role, bool):
        profile["openai_system_prompt_role"] = "developer" if role else "system"
    provider = _openai_provider(model, key, headers, client)
    return OpenAIChatModel(model.id, provider=provider, profile=cast("Any", profile))


def _responses_model(
    model: Model, key: str, headers: Mapping[str, str], client: httpx2.AsyncClient
) -> LibraryModel:
    from pydantic_ai.models.openai import OpenAIResponsesModel  # noqa: PLC0415

    profile: dict[str, Any] = {}
    if model.described:
        profile["supports_thinking"] = model.reasoning
        profile["openai_supports_encrypted_reasoning_content"] = model.reasoning
    provider = _openai_provider(model, key, headers, client)
    return OpenAIResponsesModel(model.id, provider=provider, profile=cast("Any", profile))


def _anthropic_model(
    model: Model, key: str, headers: Mapping[str, str], client: httpx2.AsyncClient
) -> LibraryModel:
    from anthropic import AsyncAnthropic  # noqa: PLC0415
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    profile: dict[str, Any] = {}
    if model.described:
        profile["supports_thinking"] = model.reasoning
    if isinstance(adaptive := model.compat.get("forceAdaptiveThinking"), bool):
        profile["anthropic_supports_adaptive_thinking"] = adaptive
    if not _is_at(model, "api.anthropic.com") and not _has(headers, "x-api-key"):
        # This SDK puts the key into Authorization alone; endpoints like Anthropic's look here.
        headers = {**headers, "X-Api-Key": key}
    sdk = AsyncAnthropic(
        api_key=key,
        base_url=model.base_url.rstrip("/").removesuffix("/v1"),
        http_client=client,
        default_headers=headers,
        max_retries=0,
    )
    provider = AnthropicProvider(anthropic_client=sdk)
    return AnthropicModel(model.id, provider=provider, profile=cast("Any", profile))


def _google_model(
    model: Model, key: str, headers: Mapping[str, str], client: httpx2.AsyncClient
) -> LibraryModel:
    from google.genai import Client  # noqa: PLC0415
    from google.genai.types import HttpOptions  # noqa: PLC0415
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    profile = {"supports_thinking": model.reasoning} if model.described else {}
    options = HttpOptions(
        base_url=model.base_url,
        api_version="",  # the base URL says it already
        headers=dict(headers),
        httpx_async_client=client,
    )
    sdk = Client(vertexai=False, api_key=key, http_options=options)
    send_contents_as_is(sdk.aio.models)
    provider = GoogleProvider(client=sdk)
    return GoogleModel(model.id, provider=provider, profile=cast("Any", profile))


def _is_at(model: Model, host: str) -> bool:
    return urlsplit(model.base_url).hostname == host


def _has(headers: Mapping[str, str], name: str) -> bool:
    return any(header.lower() == name for header in headers)


# -- settings -------------------------------------------------------------------------------------


def _openai_settings(model: Model, asked: Asked) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if model.api == "openai-responses":
        settings["openai_store"] = False
    if _is_at(model, "api.openai.com"):
        settings["openai_prompt_cache_key"] = asked.thread_id[:64]
    if limit := _output_limit(model, asked):
        settings["max_tokens"] = limit
    body = {**model.sampling, **model.sampling_by_level.get(asked.level, {})}
    if model.described and model.reasoning:
        _add_thinking(model, asked.level, settings, body)
    elif not model.described:
        settings |= _thinking_by_library(asked.level)
    if body:
        settings["extra_body"] = body
    return settings


def _add_thinking(model: Model, level: str, settings: dict[str, Any], body: dict[str, Any]) -> None:
    """How this model is asked to think: by effort, or by a field of its own (``compat``)."""
    effort = model.thinking_levels.get(level, level if level != "off" else None)
    style = model.compat.get("thinkingFormat") if model.api == "openai-completions" else None
    thinks = level != "off"
    match style:
        case "openrouter":
            body["reasoning"] = {"effort": effort or "none"}
            return
        case "deepseek" | "zai":
            body["thinking"] = {"type": "enabled" if thinks else "disabled"}
        case "qwen":
            body["enable_thinking"] = thinks
        case "qwen-chat-template":
            body["chat_template_kwargs"] = {"enable_thinking": thinks, "preserve_thinking": True}
        case "together":
            body["reasoning"] = {"enabled": thinks}
        case _:
            pass
    if effort and model.compat.get("supportsReasoningEffort", style in (None, "openai")):
        settings["openai_reasoning_effort"] = effort
        if model.api == "openai-responses" and thinks:
            settings["openai_reasoning_summary"] = "auto"


def _anthropic_settings(model: Model, asked: Asked) -> dict[str, Any]:
    settings: dict[str, Any] = {"cache": True}
    if not model.described:
        return settings | _thinking_by_library(asked.level)
    limit = _output_limit(model, asked) or _DEFAULT_MAX_TOKENS
    settings["max_tokens"] = limit
    if not model.reasoning or asked.level == "off":
        return settings
    if model.compat.get("forceAdaptiveThinking") is True:
        return settings | _thinking_by_library(asked.level)
    budget = min(_THINKING_BUDGETS.get(asked.level, 8192), limit - _ROOM_FOR_THE_ANSWER)
    if budget >= _THINKING_BUDGETS["minimal"]:
        settings["anthropic_thinking"] = {"type": "enabled", "budget_tokens": budget}
    return settings


def _thinking_by_library(level: str) -> dict[str, Any]:
    """Leave to the library's table what this model takes; ``off`` asks for nothing."""
    return {} if level == "off" else {"thinking": level}


def _output_limit(model: Model, asked: Asked) -> int | None:
    """The longest answer to ask for: the model's, less what the conversation takes of its window.

    A token has three letters or more, so this is on the safe side.
    """
    if not model.max_tokens:
        return None
    if not model.context_window:
        return model.max_tokens
    room = model.context_window - asked.letters // 3
    return min(model.max_tokens, max(room, _ROOM_FOR_THE_ANSWER))
