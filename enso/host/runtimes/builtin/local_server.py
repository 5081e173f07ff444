"""The process that runs the bundled model: llama.cpp's own server, on a loopback port.

Started by ``local_model`` as a plain script, so it imports nothing of Enso. It reads one line of
JSON from its input (weights, key, sizes), writes one line when it serves (``{"url": …}``), and ends
as soon as its input ends: that is when its parent is gone, however it went.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from typing import Any


def main() -> None:
    """Serve until the input ends."""
    ordered: dict[str, Any] = json.loads(sys.stdin.readline())
    parent = os.getppid()
    server: Any = _serve(ordered)
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.stdout.write(json.dumps({"url": server.listening_address}) + "\n")
    sys.stdout.flush()
    # A second watch, should another process hold the input open: the parent's place is taken.
    while os.getppid() == parent:
        threading.Event().wait(2.0)
    os._exit(0)


def _serve(ordered: dict[str, Any]) -> Any:
    # By name, because the package has no types: and only now, so that a bad order costs nothing.
    library: Any = importlib.import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = ordered["weights"]
    params.model_alias = {ordered["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [ordered["key"]]
    params.n_parallel = ordered["parallel"]
    params.n_ctx = ordered["context"] * ordered["parallel"]
    params.n_gpu_layers = 0
    params.fit_params = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = ordered["threads"]
    params.sampling.temp = ordered["temperature"]
    params.sampling.penalty_repeat = ordered["repeat_penalty"]
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = 0
    return library.Server(params)


def _end_with_input() -> None:
    while sys.stdin.readline():
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
