"""What the first prompt needs and a page does not, loaded before it comes.

The library and a provider's SDK take more than a second to import: a person types meanwhile. Loads
modules and starts the bundled model's process; reads no key and speaks to no provider.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Mapping
from typing import Final

from enso.host.runtimes.builtin.library import load_library
from enso.host.runtimes.builtin.local_model import LocalModel, LocalModelFailed
from enso.host.runtimes.models.model import Model

log = logging.getLogger(__name__)

_PROTOCOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "openai-completions": ("pydantic_ai.models.openai", "openai.resources.chat"),
    "openai-responses": ("pydantic_ai.models.openai", "openai.resources.responses"),
    "anthropic-messages": ("pydantic_ai.models.anthropic", "anthropic.resources.beta"),
    "google-generative-ai": ("pydantic_ai.models.google",),
}


class Preparation:
    """Prepares each protocol once, in the background. Thread-safe."""

    def __init__(self, local: LocalModel) -> None:
        self._local = local
        self._lock = threading.Lock()
        self._begun: set[str] = set()

    def begin(self, model: Model) -> None:
        """Begin to load what a request to this model needs; returns at once."""
        kind = "local" if model.local else model.api
        with self._lock:
            if kind in self._begun:
                return
            self._begun.add(kind)
        work = threading.Thread(
            target=self._load, args=(model,), name="enso-preparation", daemon=True
        )
        work.start()

    def _load(self, model: Model) -> None:
        load_library()
        for name in _PROTOCOLS[model.api]:
            importlib.import_module(name)
        if model.local:
            try:
                self._local.endpoint()
            except LocalModelFailed as failed:
                # The prompt that needs it tries again, and says why it failed.
                log.warning("The bundled model is not ready: %s", failed)
