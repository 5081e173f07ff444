"""What extensions ask and show, as dialogs, notices and a surface of ours."""

from __future__ import annotations

import threading
from typing import Any

import pytest

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
from enso.host.permission_rules import OPTIONS
from enso.host.runtimes.pi.extension_ui import ExtensionUi, extension_failure
from enso.host.runtimes.pi.guard_dialogs import RunningCall


class Side:
    """An extensions' side, what it told and what it replied to pi."""

    def __init__(self) -> None:
        self.events: list[ThreadEvent] = []
        self.replies: list[dict[str, Any]] = []
        self.asked: list[Dialog | None] = []
        self.closed = threading.Event()
        self.ui = ExtensionUi(self._tell, self.replies.append, self.asked.append, "/shop")

    def _tell(self, event: ThreadEvent) -> None:
        self.events.append(event)
        if isinstance(event, DialogClosed):
            self.closed.set()

    def take(self, method: str, **fields: Any) -> None:
        """Pi sends a request."""
        assert self.ui.take(
            {"type": "extension_ui_request", "id": "r1", "method": method, **fields}
        )

    @property
    def dialog(self) -> Dialog:
        """The dialog that was opened last."""
        return [e.dialog for e in self.events if isinstance(e, DialogOpened)][-1]


@pytest.fixture
def side() -> Side:
    """One without anything open."""
    return Side()


def test_a_select_is_answered_by_one_of_its_options(side: Side) -> None:
    """By its text; anything else is refused, and it still waits."""
    side.take("select", title="Which?\nThere are two.", options=["a", "b"])
    assert side.dialog.title == "Which?"
    assert side.dialog.message == "There are two."
    assert side.dialog.options == (
        DialogOption(value="a", label="a"),
        DialogOption(value="b", label="b"),
    )
    with pytest.raises(PromptRefused):
        side.ui.answer("r1", DialogAnswer(value="c"))
    assert side.ui.answer("r1", DialogAnswer(value="b"))
    assert side.replies == [{"type": "extension_ui_response", "id": "r1", "value": "b"}]
    assert not side.ui.answer("r1", DialogAnswer(value="a"))
    assert side.asked == [side.dialog, None]


@pytest.mark.parametrize(
    "answer,reply",
    [
        (DialogAnswer(value="yes"), {"confirmed": True}),
        (DialogAnswer(value="no"), {"confirmed": False}),
        (DialogAnswer(cancelled=True), {"cancelled": True}),
    ],
)
def test_a_confirm_is_yes_or_no(side: Side, answer: DialogAnswer, reply: dict[str, Any]) -> None:
    """Or put away."""
    side.take("confirm", title="Sure?", message="All is lost.")
    side.ui.answer("r1", answer)
    assert side.replies == [{"type": "extension_ui_response", "id": "r1", **reply}]


def test_a_text_begins_from_what_is_there(side: Side) -> None:
    """An input has a placeholder, an editor a draft; any text answers them, the empty one too."""
    side.take("input", title="Name", placeholder="main")
    assert (side.dialog.kind, side.dialog.placeholder) == ("input", "main")
    side.ui.answer("r1", DialogAnswer(value=""))
    side.take("editor", title="Text", prefill="one\ntwo")
    assert (side.dialog.kind, side.dialog.draft) == ("editor", "one\ntwo")


def test_a_question_whose_time_is_over_is_closed_as_pi_closed_it(side: Side) -> None:
    """Pi says nothing of it, and is told nothing."""
    side.take("confirm", title="Sure?", timeout=50)
    assert side.dialog.expires_at == side.dialog.created_at + 50
    assert side.closed.wait(20)
    assert side.events[-1] == DialogClosed("r1", "expired")
    assert side.replies == []
    assert side.ui.open() == ()


def test_what_is_open_ends_with_its_run(side: Side) -> None:
    """Pi is told, so that whoever asked goes on."""
    side.take("input", title="Name")
    side.ui.cancel_all()
    assert side.events[-1] == DialogClosed("r1", "stopped")
    assert side.replies == [{"type": "extension_ui_response", "id": "r1", "cancelled": True}]


def test_the_guards_question_is_a_permission_about_its_call(side: Side) -> None:
    """Of several calls that run, the one that its words are about."""
    side.ui.call_began(RunningCall("c1", "bash", {"command": "ls"}))
    side.ui.call_began(RunningCall("c2", "bash", {"command": "make"}))
    labels = [option.label for option in OPTIONS]
    side.take("select", title="Run this command?\n\nmake", options=labels)
    dialog = side.dialog
    assert (dialog.kind, dialog.tool_call_id, dialog.directory) == ("permission", "c2", "/shop")
    assert dialog.arguments == {"command": "make"}
    side.ui.answer("r1", DialogAnswer(value="deny", reason=" not now "))
    assert side.replies[0]["value"] == f"{labels[2]}\nnot now"


def test_the_guards_question_is_gone_when_its_call_goes_on(side: Side) -> None:
    """A new mode answered it."""
    side.ui.call_began(RunningCall("c1", "bash", {"command": "ls"}))
    labels = [option.label for option in OPTIONS]
    side.take("select", title="Run this command?\n\nls", options=labels)
    side.ui.call_goes_on("c1")
    assert side.events[-1] == DialogClosed("r1", "stopped")
    assert side.replies == []


def test_the_surface_is_told_whole_and_cleared_by_key(side: Side) -> None:
    """States, widgets, a title; the mode has a place of its own."""
    side.take("setStatus", statusKey="a", statusText="one\ntwo")
    side.take("setWidget", widgetKey="w", widgetLines=["x", 3, "y"], widgetPlacement="belowEditor")
    side.take("setTitle", title="T")
    side.take("setStatus", statusKey="enso-mode", statusText="Ask")
    shown = Surface(
        statuses=("one two",), widgets=(Widget(key="w", lines=("x", "y"), below=True),), title="T"
    )
    assert side.events[-1] == SurfaceChanged(shown)
    side.take("setStatus", statusKey="a")
    side.take("setWidget", widgetKey="w")
    assert side.ui.surface == Surface(title="T")
    side.ui.forget()
    assert side.events[-1] == SurfaceChanged(Surface())


def test_what_is_shown_is_bounded(side: Side) -> None:
    """An extension cannot fill the pane."""
    for n in range(100):
        side.take("setStatus", statusKey=str(n), statusText="x" * 9000)
    assert len(side.ui.surface.statuses) == 32
    assert max(map(len, side.ui.surface.statuses)) == 500


def test_notices_and_drafts_are_told(side: Side) -> None:
    """With their weight."""
    side.take("notify", message="careful", notifyType="warning")
    side.take("notify", message="so it is")
    side.take("set_editor_text", text="try this")
    assert side.events == [
        RunNotice("Warning: careful"),
        RunNotice("so it is"),
        DraftSuggested("try this"),
    ]
    assert not side.ui.take({"method": "hologram"})


def test_a_failed_extension_is_named() -> None:
    """With what it did and why it failed."""
    record = {"extensionPath": "/e.ts", "event": "tool_call", "error": "boom"}
    assert extension_failure(record) == "The extension /e.ts failed in tool_call: boom"
