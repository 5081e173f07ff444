"""One run in flight: what can be done to it from outside, and how its steps notice.

Owns that a stop ends whatever the run is waiting for, once, and ends nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Stopped(Exception):
    """The run was stopped while a step of it was under way; the step has ended."""


class Run:
    """A run. Everything but ``done`` is for the event loop that runs it.

    ``stopped``: a person stopped it. ``closing``: the thread is let go, which stops it too.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.closing = False
        self.done: Future[None] | None = None
        self.message_id: str | None = None
        """The message that streams, from its first sign until it is stored."""
        self._step: asyncio.Task[Any] | None = None
        self._wake = asyncio.Event()
        self._waits = False

    async def step(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Do one step, which a stop cancels. Raises ``Stopped`` once it has ended."""
        if self.stopped:
            work.close()
            raise Stopped
        self._step = asyncio.ensure_future(work)
        try:
            return await self._step
        except asyncio.CancelledError:
            if not self.stopped:
                raise
            raise Stopped from None
        finally:
            self._step = None

    async def wait(self, seconds: float) -> None:
        """Wait until the time is over, or somebody is impatient. Raises ``Stopped``."""
        self._wake.clear()
        self._waits = True
        try:
            await self.step(_until(self._wake, seconds))
        finally:
            self._waits = False

    @property
    def waits(self) -> bool:
        """Whether the run is in ``wait``."""
        return self._waits

    def go_on(self) -> None:
        """End a ``wait`` at once."""
        self._wake.set()

    def close(self) -> None:
        """Stop, because nobody is there any more."""
        self.closing = self.closing or not self.stopped
        self.stop()

    def stop(self) -> None:
        """End the step that is under way, and every later one before it begins.

        Once: a second cancellation would cut its clearing up short.
        """
        if not self.stopped and self._step is not None:
            self._step.cancel()
        self.stopped = True


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
