"""What a live thread's state makes of events whose entries get their ids late."""

from __future__ import annotations

from pathlib import Path

from enso import transcript, wire
from enso.host import contract
from enso.host.modes import fresh_mode
from enso.server.live_state import Change, LiveState
from enso.transcript import TextPart, TranscriptMessage


def state() -> LiveState:
    """A live thread with nothing on its branch, while a run is in flight."""
    inspection = contract.HostedThreadInspection(
        session_id="t1",
        cwd=Path("/shop"),
        session_dir=Path("/sessions"),
        session_file=None,
        entries=(),
        commands=(),
    )
    live = LiveState(
        inspection=inspection,
        usage=transcript.Usage(),
        permission_mode=fresh_mode(),
        inspect=lambda: inspection,
    )
    live.begin_run()
    return live


def said(entry_id: str, text: str, role: str = "assistant") -> TranscriptMessage:
    """A message's entry."""
    if role == "user":
        return TranscriptMessage(id=entry_id, role="user", parts=(TextPart(text),))
    return TranscriptMessage(
        id=entry_id,
        role="assistant",
        parts=(TextPart(text),),
        provider="lab",
        model="m",
        stop_reason="stop",
        usage=transcript.Usage(input=1, output=1),
    )


def frames(changes: list[Change]) -> list[wire.MessageFrame]:
    """The message frames of changes."""
    return [change.frame for change in changes if isinstance(change.frame, wire.MessageFrame)]


def test_what_streamed_becomes_its_entry_in_its_place() -> None:
    """The frame names the id that it had until now, and no second message is there."""
    live = state()
    live.apply(contract.MessageStarted("live-1", "lab", "m", 1))
    live.apply(contract.PartStarted("live-1", 0, TextPart("")))
    live.apply(contract.PartDelta("live-1", 0, "Hello"))
    changes = live.apply(contract.EntryStored(said("a1", "Hello"), streamed_as="live-1"))
    (frame,) = frames(changes)
    assert (frame.message.id, frame.replaces) == ("a1", "live-1")
    assert not any(change.new for change in changes)
    assert [message.id for message in live.messages()] == ["a1"]
    assert live.streaming is None


def test_an_entry_that_was_told_before_is_renamed() -> None:
    """It stays where it is: nothing is counted or shown twice."""
    live = state()
    live.apply(contract.EntryStored(said("live-1", "Hi", "user")))
    live.apply(contract.EntryStored(said("a1", "Hello")))
    changes = live.apply(contract.EntryStored(said("u1", "Hi", "user"), streamed_as="live-1"))
    (frame,) = frames(changes)
    assert (frame.message.id, frame.replaces) == ("u1", "live-1")
    assert [message.id for message in live.messages()] == ["u1", "a1"]
    assert [entry.id for entry in live.entries] == ["u1", "a1"]
    assert live.usage.input == 1


def test_an_entry_without_another_id_replaces_none() -> None:
    """What streamed under its own id needs no second one."""
    live = state()
    live.apply(contract.MessageStarted("a1", "lab", "m", 1))
    (frame,) = frames(live.apply(contract.EntryStored(said("a1", "Hello"))))
    assert frame.replaces is None


def test_what_waits_and_is_shown_outlives_a_new_reading_of_the_branch() -> None:
    """Dialogs, queue, activity and the surface are not in the log."""
    before, live = state(), state()
    live.end_run()
    dialog = contract.Dialog(id="d1", kind="confirm", title="Sure?", created_at=1)
    before.apply(contract.DialogOpened(dialog))
    before.apply(contract.SurfaceChanged(contract.Surface(statuses=("Turn 3",))))
    before.apply(contract.ActivityChanged(contract.Activity(kind="needs-you")))
    live.carry_over(before)
    assert list(live.dialogs) == ["d1"]
    assert live.surface.statuses == ("Turn 3",)
    assert live.running
    assert live.activity == contract.Activity(kind="needs-you")


def test_a_terminals_colours_are_no_text() -> None:
    """A notice, a state and a widget of an extension are read without them."""
    live = state()
    surface = contract.Surface(
        statuses=("\x1b[32mok\x1b[0m",),
        widgets=(contract.Widget(key="w", lines=("\x1b[1mtodo\x1b[0m",)),),
    )
    (shown,) = live.apply(contract.SurfaceChanged(surface))
    assert isinstance(shown.frame, wire.SurfaceFrame)
    assert shown.frame.surface.statuses == ["ok"]
    assert shown.frame.surface.widgets[0].lines == ["todo"]
    (told,) = live.apply(contract.RunNotice("\x1b[31mno\x1b[0m"))
    assert told.frame == wire.NoticeFrame(message="no")
