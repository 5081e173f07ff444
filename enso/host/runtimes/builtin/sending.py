"""The moment at which a request has gone out: whoever made way for it goes on from there.

All workers share one interpreter. The answer to a prompt's POST, its frames to who follows, and the
rail's news can each come a moment later, and the request comes sooner for it.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any, Final

MOST_SECONDS: Final = 0.02
"""How long others make way: a request that needs longer waits for something else than them."""

_SENT: Final = "http11.send_request_body.complete"


class WayOut:
    """The way of one run's first request; gone through once."""

    def __init__(self) -> None:
        self._gone = threading.Event()

    def open(self) -> None:
        """The request is out, or none will be made soon."""
        self._gone.set()

    @property
    def is_open(self) -> bool:
        """Whether nobody needs to make way any more."""
        return self._gone.is_set()

    def make_way(self) -> None:
        """Wait for it, for a moment at most. Not for the event loop."""
        self._gone.wait(MOST_SECONDS)


way_out: ContextVar[WayOut | None] = ContextVar("way_out", default=None)
"""The way of the run that makes a request, in its task."""


def watch(request: Any) -> None:
    """Have this request say when it is out, if a run waits for that."""
    way = way_out.get()
    if way is None:
        return

    async def traced(name: str, info: object) -> None:
        del info
        if name == _SENT:
            way.open()

    request.extensions["trace"] = traced
