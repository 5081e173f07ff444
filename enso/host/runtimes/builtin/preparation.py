"""What the first prompt needs and a page does not, made ready before it comes.

The library and a provider's SDK take more than a second to import: a person types meanwhile. Loads
modules, reads the certificates and starts the bundled model's process; reads no key and speaks to
no provider.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable
from typing import Final

from enso.host.runtimes.builtin.library import load_library
from enso.host.runtimes.builtin.local_model import LocalModel, LocalModelFailed
from enso.host.runtimes.models.model import Model

log = logging.getLogger(__name__)

_RUNS: Final = "enso.host.runtimes.builtin.runtime"
"""With what it imports, half of this package: no page needs it."""


class Preparation:
    """Prepares each protocol once, in the background. Thread-safe.

    ``prepare`` makes ready for a model, once the library is loaded. It may block.
    """

    def __init__(self, local: LocalModel, prepare: Callable[[Model], None]) -> None:
        self._local = local
        self._prepare = prepare
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
        importlib.import_module(_RUNS)
        try:
            self._prepare(model)
        except Exception:  # a configuration that no client can be made of: its prompt fails as well
            log.exception("Enso could not prepare for %s", model.label)
        if model.local:
            try:
                self._local.endpoint()
            except LocalModelFailed as failed:
                # The prompt that needs it tries again, and says why it failed.
                log.warning("The bundled model is not ready: %s", failed)
