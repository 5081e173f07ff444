"""One worker with one event loop, in which all built-in threads run their requests.

It starts with the first request, so that a server which only shows pages has none, and has not
loaded what it is made of.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

_Result = TypeVar("_Result")


class WorkerClosed(Exception):
    """The worker was closed: nothing runs in it any more."""


_CLOSING_SECONDS: Final = 5.0


class Worker:
    """The event loop, and the OS thread that runs it. Thread-safe."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, coroutine: Coroutine[Any, Any, _Result]) -> Future[_Result]:
        """Run a coroutine in the loop; returns at once. Raises ``WorkerClosed``."""
        import asyncio  # noqa: PLC0415

        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())
        except WorkerClosed:
            coroutine.close()
            raise

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, soon. Does nothing when no loop runs."""
        with self._lock:
            loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(function)

    @property
    def is_current(self) -> bool:
        """Whether the caller is in the loop itself, and so must not wait for it."""
        return self._thread is threading.current_thread()

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run ``last`` in the loop, if one was ever started, then end it."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop, self._closed = None, True
        if loop is None or thread is None:
            return
        import asyncio  # noqa: PLC0415

        asyncio.run_coroutine_threadsafe(last(), loop).result(_CLOSING_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSING_SECONDS)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise WorkerClosed
            if self._loop is None:
                import asyncio  # noqa: PLC0415

                self._loop = loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=(loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio  # noqa: PLC0415

    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_CLOSING_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
