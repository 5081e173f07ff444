"""Questions that hold up a run until a person answers them.

Owns that the first answer wins, that a question is never answered by anything but a person, a stop,
or a rule that has come to allow what it asks, and that each is told as opened and closed once.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from enso.host.contract import Dialog, DialogAnswer, DialogClosed, DialogOpened, PromptRefused

STOPPED = "stopped"
"""The outcome of a question that was ended with its run."""


def new_dialog_id() -> str:
    """An id that no other dialog has."""
    return uuid.uuid4().hex[:12]


@dataclass(slots=True)
class _Open:
    dialog: Dialog
    loop: asyncio.AbstractEventLoop
    answered: asyncio.Future[DialogAnswer]


class Dialogs:
    """The open dialogs of one thread; ``tell`` hears of them. Asked in the loop, answered anywhere.

    ``changed`` is told whether any is open, before the listener hears of the dialog itself.
    """

    def __init__(
        self,
        tell: Callable[[DialogOpened | DialogClosed], None],
        changed: Callable[[Dialog | None], None],
    ) -> None:
        self._tell = tell
        self._changed = changed
        self._lock = threading.RLock()
        self._open: dict[str, _Open] = {}

    async def ask(self, dialog: Dialog) -> DialogAnswer:
        """Open a dialog and wait for its answer, for as long as it takes.

        When the wait is cancelled, the dialog is closed as stopped.
        """
        loop = asyncio.get_running_loop()
        opened = _Open(dialog, loop, loop.create_future())
        with self._lock:
            self._open[dialog.id] = opened
            self._changed(dialog)
            self._tell(DialogOpened(dialog))
        try:
            return await opened.answered
        finally:
            self._close(dialog.id, STOPPED)

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """Answer a dialog; false when none is open. Raises ``PromptRefused`` for a wrong value."""
        with self._lock:
            opened = self._open.get(dialog_id)
            if opened is None:
                return False
            outcome = _outcome(opened.dialog, answer)
            self._close(dialog_id, outcome)
        opened.loop.call_soon_threadsafe(_settle, opened.answered, answer)
        return True

    def open(self) -> tuple[Dialog, ...]:
        """The dialogs that wait, oldest first."""
        with self._lock:
            return tuple(opened.dialog for opened in self._open.values())

    def _close(self, dialog_id: str, outcome: str) -> None:
        with self._lock:
            if self._open.pop(dialog_id, None) is None:
                return
            waiting = next(iter(self._open.values()), None)
            self._changed(waiting.dialog if waiting is not None else None)
            self._tell(DialogClosed(dialog_id, outcome))


def _settle(answered: asyncio.Future[DialogAnswer], answer: DialogAnswer) -> None:
    if not answered.done():
        answered.set_result(answer)


def _outcome(dialog: Dialog, answer: DialogAnswer) -> str:
    """What is told of an answer; raises ``PromptRefused`` when it is none to this question."""
    if answer.cancelled:
        return "cancelled"
    values = {option.value for option in dialog.options}
    if answer.value is None or (values and answer.value not in values):
        raise PromptRefused("unknown-answer", "This question has no such answer.")
    return answer.value
