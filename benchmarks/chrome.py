"""Chromium driven over its DevTools protocol alone: nothing of a driver is in the pages it loads.

A driver such as playwright has scripts of its own run in every page before the page is parsed, and
listens to all that the page does. Here a page is opened, loaded, and asked once all is over.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.e2e.conftest import CHROMIUM_OPTIONS, chromium

START_SECONDS = 20
ANSWER_SECONDS = 30


class Chrome:
    """One running Chromium. ``send`` asks it something; events are given to ``listener``."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self.listener: Callable[[str, dict[str, Any]], None] = lambda _method, _params: None

    def send(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """The answer to a command. Raises ``RuntimeError`` where Chromium says it cannot."""
        number = next(self._numbers)
        target = {"sessionId": session} if session else {}
        self._wire.send(json.dumps({"id": number, "method": method, "params": params, **target}))
        while True:
            told = json.loads(self._wire.recv(timeout=ANSWER_SECONDS))
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']['message']}")
                return told["result"]
            if "method" in told:
                self.listener(told["method"], told["params"])

    @contextmanager
    def page(self, width: int, height: int) -> Iterator[str]:
        """The session of an empty page in a browser context of its own, which holds nothing yet."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send(
            "Target.createTarget",
            url="about:blank", browserContextId=context, width=width, height=height,
        )["targetId"]  # fmt: skip
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        yield attached["sessionId"]
        self.send("Target.disposeBrowserContext", browserContextId=context)

    def value(self, session: str, expression: str) -> Any:
        """What an expression of JavaScript is in the page; a promise is waited for."""
        answer = self.send(
            "Runtime.evaluate", session,
            expression=expression, awaitPromise=True, returnByValue=True,
        )  # fmt: skip
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")


@contextmanager
def launched() -> Iterator[Chrome]:
    """A headless Chromium with a profile of its own. It ends with the ``with``."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        told = Path(profile) / "DevToolsActivePort"
        process = subprocess.Popen(
            [
                chromium(),
                "--headless",
                "--remote-debugging-port=0",
                f"--user-data-dir={profile}",
                *CHROMIUM_OPTIONS,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            given_up = time.monotonic() + START_SECONDS
            while not (told.is_file() and len(told.read_text().split()) == 2):
                assert time.monotonic() < given_up, "Chromium did not start"
                time.sleep(0.05)
            port, path = told.read_text().split()
            with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as wire:
                yield Chrome(wire)
        finally:
            process.terminate()
            process.wait(30)
