"""Blocking work of a tool on another worker, so that the event loop stays free.

A call that is cancelled tells the work to stop, waits until it has, and only then ends: what it
holds (a lock, a file half written, a process) is let go by whoever took it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")


class Cancelled(Exception):
    """The work stopped because its call was cancelled. Never leaves this package."""


class Cancellation:
    """Tells the work of one call that it must stop. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether the work must stop."""
        return self._is_set

    def check(self) -> None:
        """Raise ``Cancelled`` when the work must stop."""
        if self._is_set:
            raise Cancelled

    def call(self, callback: Callable[[], None]) -> None:
        """Call back once when the work must stop; at once when it must already."""
        with self._lock:
            if not self._is_set:
                self._callbacks.append(callback)
                return
        callback()

    def set(self) -> None:
        """Tell the work to stop."""
        with self._lock:
            self._is_set = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


Work = Callable[[Cancellation], _Result]
"""Blocking work. Raises ``Cancelled`` or returns early when it is told to stop."""


async def in_worker(work: Work[_Result]) -> _Result:
    """Do short work in the loop's pool of workers; it is queued in the order of the calls."""
    cancellation = Cancellation()
    loop = asyncio.get_running_loop()
    return await _settled(loop.run_in_executor(None, work, cancellation), cancellation)


async def in_own_worker(name: str, work: Work[_Result]) -> _Result:
    """Do work that may take long in a worker of its own, which no exit of the server awaits."""
    cancellation = Cancellation()
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(work(cancellation))
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is awaited
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await _settled(asyncio.wrap_future(future), cancellation)


async def _settled(future: asyncio.Future[_Result], cancellation: Cancellation) -> _Result:
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancellation.set()
        await _end(future)
        raise


async def _end(future: asyncio.Future[_Result]) -> None:
    while not future.done():
        with contextlib.suppress(asyncio.CancelledError):  # cancelled once more: it still ends
            await asyncio.wait([future])
    if not future.cancelled():
        future.exception()  # seen: a work that was told to stop may fail
