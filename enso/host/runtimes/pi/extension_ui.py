"""What extensions ask of a person and show: pi's ``docs/rpc-extension-ui.md``.

A ``select``, ``confirm``, ``input`` or ``editor`` is a dialog of ours that waits; pi answers it
itself when its time is over, without a word, so it is closed here at that time. The rest is told:
a notice, a text for the composer, and the surface (states, widgets, title) as it now is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from enso.host.contract import (
    Dialog,
    DialogAnswer,
    DialogClosed,
    DialogOpened,
    DialogOption,
    DraftSuggested,
    PromptRefused,
    RunNotice,
    Surface,
    SurfaceChanged,
    ThreadEvent,
    Widget,
)
from enso.host.json_lines import clean_text, plain
from enso.host.runtimes.pi.guard import MODE_STATUS
from enso.host.runtimes.pi.guard_dialogs import RunningCall, as_permission, guard_answer
from enso.host.stored_values import Stored, count_of, object_of, text_of

STOPPED: Final = "stopped"
EXPIRED: Final = "expired"
"""The outcome of a question that nobody answered in its time."""

_CLOCKS_MS: Final = 500

_SHOWN: Final = 32
"""How many states, widgets and lines of a widget are shown: extensions are not bounded."""

_YES_NO: Final = (DialogOption(value="yes", label="Yes"), DialogOption(value="no", label="No"))
_Kind = Literal["permission", "select", "confirm", "input", "editor"]


@dataclass(slots=True)
class _Open:
    dialog: Dialog
    timer: threading.Timer | None = None


class ExtensionUi:
    """The extensions' side of one thread. Thread-safe.

    ``tell`` is told of everything, ``reply`` sends an ``extension_ui_response``, and ``asked`` is
    told the oldest open dialog, or that none is open, before the listener hears of it.
    """

    def __init__(
        self,
        tell: Callable[[ThreadEvent], None],
        reply: Callable[[dict[str, Any]], None],
        asked: Callable[[Dialog | None], None],
        directory: str,
    ) -> None:
        self._tell = tell
        self._reply = reply
        self._asked = asked
        self._directory = directory
        self._calls: dict[str, RunningCall] = {}
        self._lock = threading.RLock()
        self._open: dict[str, _Open] = {}
        self._statuses: dict[str, str] = {}
        self._widgets: dict[str, Widget] = {}
        self._title = ""

    # -- what pi sends ----------------------------------------------------------------------------

    def take(self, request: Stored) -> bool:
        """Take a request in; False for a method that Enso does not know."""
        match request.get("method"):
            case "select" | "confirm" | "input" | "editor" as kind:
                self._ask(_dialog(cast("_Kind", kind), request))
            case "notify":
                self._tell(RunNotice(_notice(request)))
            case "set_editor_text":
                self._tell(DraftSuggested(text_of(request.get("text"))))
            case "setStatus" | "setWidget" | "setTitle":
                self._show(request)
            case _:
                return False
        return True

    def call_began(self, call: RunningCall) -> None:
        """A tool call begins: a question of the guard may be about it."""
        self._calls[call.id] = call

    def call_goes_on(self, call_id: str, *, ended: bool = False) -> None:
        """A call runs, or ended: what was asked about it is asked no more, though pi says nothing.

        The guard takes a question back when a new mode answers it.
        """
        if ended:
            self._calls.pop(call_id, None)
        for dialog in self.open():
            if call_id and dialog.tool_call_id == call_id:
                self._close(dialog.id, STOPPED)

    def _ask(self, asked: Dialog) -> None:
        dialog = as_permission(asked, list(self._calls.values()), self._directory)
        opened = _Open(dialog)
        with self._lock:
            self._open[dialog.id] = opened
            self._asked(next(iter(self._open.values())).dialog)
            self._tell(DialogOpened(dialog))
            if dialog.expires_at is not None:
                seconds = max(0, dialog.expires_at - _now_ms()) / 1000
                opened.timer = threading.Timer(seconds, self._close, (dialog.id, EXPIRED))
                opened.timer.daemon = True
                opened.timer.start()

    def _show(self, request: Stored) -> None:
        with self._lock:
            match request.get("method"):
                case "setStatus" if request.get("statusKey") == MODE_STATUS:
                    return  # the mode has a place of its own
                case "setStatus":
                    text = _one_line(text_of(request.get("statusText")))
                    _put(self._statuses, text_of(request.get("statusKey")), text or None)
                case "setWidget":
                    key = text_of(request.get("widgetKey"))
                    _put(self._widgets, key, _widget(key, request))
                case _:
                    self._title = _one_line(text_of(request.get("title")))
            self._tell(SurfaceChanged(self.surface))

    @property
    def surface(self) -> Surface:
        """What is shown now."""
        with self._lock:
            return Surface(
                statuses=tuple(self._statuses.values())[:_SHOWN],
                widgets=tuple(self._widgets.values())[:_SHOWN],
                title=self._title,
            )

    # -- what a person says -----------------------------------------------------------------------

    def open(self) -> tuple[Dialog, ...]:
        """The dialogs that wait, oldest first."""
        with self._lock:
            return tuple(opened.dialog for opened in self._open.values())

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """Answer a dialog; False when none is open. Raises ``PromptRefused`` for a wrong value."""
        with self._lock:
            opened = self._open.get(dialog_id)
            if opened is None:
                return False
            outcome = _outcome(opened.dialog, answer)
            self._close(dialog_id, outcome)
        said = {"cancelled": True} if answer.cancelled else _said(opened.dialog, answer)
        self._reply({"type": "extension_ui_response", "id": dialog_id, **said})
        return True

    def cancel_all(self) -> None:
        """Put every dialog away, as stopped; pi is told, if it still hears."""
        for dialog in self.open():
            self._reply({"type": "extension_ui_response", "id": dialog.id, "cancelled": True})
            self._close(dialog.id, _ended(dialog))

    def forget(self) -> None:
        """The process is gone: nothing is open and nothing is shown any more."""
        for dialog in self.open():
            self._close(dialog.id, _ended(dialog))
        self._calls.clear()
        with self._lock:
            shown = self.surface != Surface()
            self._statuses, self._widgets, self._title = {}, {}, ""
            if shown:
                self._tell(SurfaceChanged(Surface()))

    def _close(self, dialog_id: str, outcome: str) -> None:
        with self._lock:
            opened = self._open.pop(dialog_id, None)
            if opened is None:
                return
            if opened.timer is not None:
                opened.timer.cancel()
            waiting = next(iter(self._open.values()), None)
            self._asked(waiting.dialog if waiting is not None else None)
            self._tell(DialogClosed(dialog_id, outcome))


def _dialog(kind: _Kind, request: Stored) -> Dialog:
    now, timeout = _now_ms(), count_of(request.get("timeout"))
    title, message = _title_and_message(request)
    return Dialog(
        id=text_of(request.get("id")),
        kind=kind,
        title=title,
        message=message,
        options=_options(kind, request),
        draft=text_of(request.get("prefill")),
        placeholder=text_of(request.get("placeholder")),
        created_at=now,
        expires_at=now + timeout if timeout else None,
    )


def _title_and_message(request: Stored) -> tuple[str, str]:
    """The first line of a title is the title; what is below it comes before the message."""
    title, _, below = text_of(request.get("title")).strip().partition("\n")
    told = (below, text_of(request.get("message")))
    return title, "\n\n".join(text.strip("\n") for text in told if text.strip())


def _options(kind: _Kind, request: Stored) -> tuple[DialogOption, ...]:
    if kind == "confirm":
        return _YES_NO
    options = plain(request.get("options"))
    if kind != "select" or not isinstance(options, list):
        return ()
    texts = [text for text in cast("list[Any]", options) if isinstance(text, str)]
    return tuple(DialogOption(value=text, label=text) for text in texts)


def _ended(dialog: Dialog) -> str:
    """What became of a dialog that nobody answered; pi's clock may be ahead of this one."""
    due = dialog.expires_at is not None and dialog.expires_at <= _now_ms() + _CLOCKS_MS
    return EXPIRED if due else STOPPED


def _outcome(dialog: Dialog, answer: DialogAnswer) -> str:
    """What is told of an answer; raises ``PromptRefused`` when it is none to this question."""
    if answer.cancelled:
        return "cancelled"
    values = {option.value for option in dialog.options}
    chosen = dialog.kind not in ("input", "editor")
    if answer.value is None or (chosen and answer.value not in values):
        raise PromptRefused("unknown-answer", "This question has no such answer.")
    return answer.value


def _said(dialog: Dialog, answer: DialogAnswer) -> dict[str, Any]:
    if dialog.kind == "confirm":
        return {"confirmed": answer.value == "yes"}
    if dialog.kind == "permission":
        return {"value": guard_answer(answer)}
    return {"value": answer.value}


def _notice(request: Stored) -> str:
    words = {"warning": "Warning: ", "error": "Error: "}
    kind = text_of(request.get("notifyType"))
    return words.get(kind, "") + text_of(request.get("message"))


def _widget(key: str, request: Stored) -> Widget | None:
    lines = request.get("widgetLines")
    if not isinstance(lines, list):
        return None
    texts = [clean_text(line) for line in cast("list[Any]", lines) if isinstance(line, str)]
    below = request.get("widgetPlacement") == "belowEditor"
    return Widget(key=key, lines=tuple(texts[:_SHOWN]), below=below)


def _put(places: dict[str, Any], key: str, value: object) -> None:
    if value is None:
        places.pop(key, None)
    else:
        places[key] = value


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def extension_failure(record: Mapping[str, Any]) -> str:
    """What is said of an extension that threw."""
    path, event = text_of(record.get("extensionPath")), text_of(record.get("event"))
    error = object_of(record.get("error")).get("message", record.get("error"))
    return f"The extension {path} failed in {event}: {text_of(error)}"
