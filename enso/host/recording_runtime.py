"""A runtime beside which the events of its run are kept, for whoever inspects a live thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final, Literal

from enso.host.contract import (
    Activity,
    Command,
    Dialog,
    DialogAnswer,
    EventListener,
    ModelInUse,
    PromptImage,
    QueuedPrompt,
    ThreadEvent,
    ThreadRuntime,
)

KEPT_EVENTS: Final = 2000
"""How many events of a run are kept for whoever inspects it."""


class RecordingRuntime:
    """A runtime whose events of the current or last run are kept, the newest ``KEPT_EVENTS``."""

    def __init__(self, runtime: ThreadRuntime) -> None:
        self._runtime = runtime
        self._lock = threading.Lock()
        self._events: deque[ThreadEvent] = deque(maxlen=KEPT_EVENTS)

    def events(self) -> list[ThreadEvent]:
        """The kept events, in order; the list is the caller's own."""
        with self._lock:
            return list(self._events)

    def forget_events(self) -> None:
        """Keep none of them any longer; those of the next run are kept again."""
        with self._lock:
            self._events.clear()

    def listen(self, listener: EventListener) -> None:
        """As the contract says."""

        def keep_and_tell(event: ThreadEvent) -> None:
            with self._lock:
                self._events.append(event)
            listener(event)

        self._runtime.listen(keep_and_tell)

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """As the contract says. A prompt that is refused leaves the kept events as they were."""
        with self._recording_anew():
            self._runtime.prompt(message, images)

    def compact(self, instructions: str = "") -> None:
        """As the contract says; a run like a prompt's."""
        with self._recording_anew():
            self._runtime.compact(instructions)

    @contextmanager
    def _recording_anew(self) -> Generator[None]:
        with self._lock:
            before, self._events = self._events, deque[ThreadEvent](maxlen=KEPT_EVENTS)
        try:
            yield
        except BaseException:
            with self._lock:
                before.extend(self._events)
                self._events = before
            raise

    def abort(self) -> tuple[QueuedPrompt, ...]:
        """As the contract says."""
        return self._runtime.abort()

    def model(self) -> ModelInUse | None:
        """As the contract says."""
        return self._runtime.model()

    def queue(
        self,
        message: str,
        images: Sequence[PromptImage] = (),
        *,
        when: Literal["steer", "after"],
    ) -> str:
        """As the contract says."""
        return self._runtime.queue(message, images, when=when)

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """As the contract says."""
        return self._runtime.take_back(item_id)

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """As the contract says."""
        return self._runtime.queued()

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """As the contract says."""
        return self._runtime.answer(dialog_id, answer)

    def dialogs(self) -> tuple[Dialog, ...]:
        """As the contract says."""
        return self._runtime.dialogs()

    def activity(self) -> Activity | None:
        """As the contract says."""
        return self._runtime.activity()

    def retry_now(self) -> bool:
        """As the contract says."""
        return self._runtime.retry_now()

    def set_mode(self, mode: str) -> None:
        """As the contract says."""
        self._runtime.set_mode(mode)

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """As the contract says."""
        self._runtime.set_model(provider, model, level)

    def rename(self, name: str) -> None:
        """As the contract says."""
        self._runtime.rename(name)

    def label(self, entry_id: str, label: str) -> None:
        """As the contract says."""
        self._runtime.label(entry_id, label)

    def go_to(self, entry_id: str | None) -> None:
        """As the contract says."""
        self._runtime.go_to(entry_id)

    def commands(self) -> tuple[Command, ...]:
        """As the contract says."""
        return self._runtime.commands()

    def close(self) -> None:
        """As the contract says."""
        self._runtime.close()
