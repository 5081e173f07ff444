"""What runs one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from enso.host.contract.events import EventListener
from enso.host.contract.waiting import (
    Activity,
    Command,
    Dialog,
    DialogAnswer,
    ModelInUse,
    PromptImage,
    QueuedPrompt,
)


class ThreadRuntime(Protocol):
    """What runs one thread: takes prompts, one run at a time, and tells what happens.

    A run begins with ``prompt`` or ``compact`` and ends with ``RunSettled``; its events reach the
    one listener in order, from a worker of the runtime's, which must not be held up. What is stored
    outside of a run is told before the method that stores it returns; the listener must not wait
    for a lock that a caller of a method holds. Entries stay in memory until the first answer
    begins: a thread without one leaves no file.
    """

    def listen(self, listener: EventListener) -> None:
        """Set the listener. Called once, before the first prompt."""
        ...

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run and return at once. Raises ``PromptRefused`` when none was started."""
        ...

    def abort(self) -> tuple[QueuedPrompt, ...]:
        """End the run that is in flight, if any, leaving a valid branch; ``RunSettled`` follows.

        Returns what this took out of the queue, in the order of delivery: each was neither
        delivered nor taken back before, and is not said any more. A second stop returns nothing.
        """
        ...

    def model(self) -> ModelInUse | None:
        """The model of the next prompt; ``None`` when none is configured."""
        ...

    # -- while a run is in flight

    def queue(
        self,
        message: str,
        images: Sequence[PromptImage] = (),
        *,
        when: Literal["steer", "after"],
    ) -> str:
        """Have a message delivered to the run in flight; returns the queued item's id.

        ``steer``: after the current tools; ``after``: when the run would settle. It stays one run.
        Raises ``PromptRefused`` with code ``not-busy`` when there is none.
        """
        ...

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """Take a queued item out again; ``None`` when it is gone or was delivered."""
        ...

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """What waits, in the order of delivery."""
        ...

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """Answer a dialog. False: it is unknown or was answered before, so this does nothing.

        Raises ``PromptRefused`` for a value that is none of its options; then it still waits.
        """
        ...

    def dialogs(self) -> tuple[Dialog, ...]:
        """The dialogs that are open, oldest first."""
        ...

    def activity(self) -> Activity | None:
        """What the run in flight is doing; ``None`` when there is none."""
        ...

    def retry_now(self) -> bool:
        """End a retry wait at once, without giving up. False: the run is in none."""
        ...

    # -- what a person sets; each is an entry

    def set_mode(self, mode: str) -> None:
        """Change the permission mode, also while busy; raises ``PromptRefused`` for an unknown."""
        ...

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """Choose the model, and the thinking level, of the next prompt.

        Raises ``PromptRefused`` while busy, and for a model that is not configured or has no key.
        """
        ...

    def compact(self, instructions: str = "") -> None:
        """Start a run that sums up the conversation so far. Raises ``PromptRefused``."""
        ...

    def rename(self, name: str) -> None:
        """Name the thread; the empty name takes its name away."""
        ...

    def label(self, entry_id: str, label: str) -> None:
        """Label an entry of the file; the empty label takes it away. Raises ``PromptRefused``."""
        ...

    def go_to(self, entry_id: str | None) -> None:
        """Continue from another entry of the file, as pi's ``/tree`` does without a summary.

        The leaf becomes that entry; for a user message what it answered, so that it can be said
        differently; ``None``: before everything. Nothing is stored before the next entry is, and
        no event tells: read the thread anew. Raises ``PromptRefused`` while busy, or for an
        unknown id.
        """
        ...

    def commands(self) -> tuple[Command, ...]:
        """The slash commands of this thread."""
        ...

    def close(self) -> None:
        """Let go of everything. Ends a run first; nothing is emitted afterwards."""
        ...
