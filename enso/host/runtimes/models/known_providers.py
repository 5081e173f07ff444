"""The providers that need no entry in ``models.json``: a key in the environment is enough.

Data alone: where each is, what it speaks, which environment variables hold its key, and the model a
new thread gets when nothing else is said. Source: the built-in providers of pi 1.6.0. Providers
whose protocol is none of the four that Enso speaks are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

Api = Literal[
    "openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"
]
"""The protocols that Enso speaks, by the names ``models.json`` has for them."""

APIS: Final[frozenset[str]] = frozenset(get_args(Api))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """One provider: its base URL, its protocol, its keys' variables in order, its first model."""

    base_url: str
    api: Api
    key_variables: tuple[str, ...]
    first_model: str


KNOWN_PROVIDERS: Final[Mapping[str, KnownProvider]] = {
    "anthropic": KnownProvider(
        base_url="https://api.anthropic.com",
        api="anthropic-messages",
        key_variables=("ANTHROPIC_API_KEY",),
        first_model="claude-opus-5-5",
    ),
    "openai": KnownProvider(
        base_url="https://api.openai.com/v1",
        api="openai-responses",
        key_variables=("OPENAI_API_KEY",),
        first_model="gpt-6.2-sol",
    ),
    "google": KnownProvider(
        base_url="https://generativelanguage.googleapis.com/v1beta",
        api="google-generative-ai",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        first_model="gemini-4-argon",
    ),
    "deepseek": KnownProvider(
        base_url="https://api.deepseek.com",
        api="openai-completions",
        key_variables=("DEEPSEEK_API_KEY",),
        first_model="deepseek-v4-pro",
    ),
    "mistral": KnownProvider(
        base_url="https://api.mistral.ai/v1",
        api="openai-completions",
        key_variables=("MISTRAL_API_KEY",),
        first_model="devstral-medium-latest",
    ),
    "xai": KnownProvider(
        base_url="https://api.x.ai/v1",
        api="openai-responses",
        key_variables=("XAI_API_KEY",),
        first_model="grok-4.7",
    ),
    "groq": KnownProvider(
        base_url="https://api.groq.com/openai/v1",
        api="openai-completions",
        key_variables=("GROQ_API_KEY",),
        first_model="openai/gpt-oss-120b",
    ),
    "cerebras": KnownProvider(
        base_url="https://api.cerebras.ai/v1",
        api="openai-completions",
        key_variables=("CEREBRAS_API_KEY",),
        first_model="gpt-oss-120b",
    ),
    "openrouter": KnownProvider(
        base_url="https://openrouter.ai/api/v1",
        api="openai-completions",
        key_variables=("OPENROUTER_API_KEY",),
        first_model="moonshotai/kimi-k2.7-code",
    ),
    "together": KnownProvider(
        base_url="https://api.together.ai/v1",
        api="openai-completions",
        key_variables=("TOGETHER_API_KEY",),
        first_model="moonshotai/Kimi-K3",
    ),
    "fireworks": KnownProvider(
        base_url="https://api.fireworks.ai/inference/v1",
        api="openai-completions",
        key_variables=("FIREWORKS_API_KEY",),
        first_model="accounts/fireworks/models/kimi-k3",
    ),
    "moonshotai": KnownProvider(
        base_url="https://api.moonshot.ai/v1",
        api="openai-completions",
        key_variables=("MOONSHOT_API_KEY",),
        first_model="kimi-k2.7-code",
    ),
    "huggingface": KnownProvider(
        base_url="https://router.huggingface.co/v1",
        api="openai-completions",
        key_variables=("HF_TOKEN",),
        first_model="moonshotai/Kimi-K2.7-Code",
    ),
    "nvidia": KnownProvider(
        base_url="https://integrate.api.nvidia.com/v1",
        api="openai-completions",
        key_variables=("NVIDIA_API_KEY",),
        first_model="nvidia/nemotron-3.5-super-vl-120b-a12b",
    ),
    "zai": KnownProvider(
        base_url="https://api.z.ai/api/coding/paas/v4",
        api="openai-completions",
        key_variables=("ZAI_API_KEY",),
        first_model="glm-5.3",
    ),
}
"""By provider id, in the order in which a new thread's model is looked for."""
