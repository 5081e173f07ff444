"""Frames to HTML: which element of a page each frame changes, and how.

Owns the DOM ids that frames aim at, with the templates that make them. A frame is one or more
``<hx-partial hx-target="#id" hx-swap="…">``, and always starts with that tag: a frame that parses
as JSON would be dropped by the browser's side without a word. A target that is not on the page is
passed over there, so ids hold the thread's key: a late frame misses the next thread's pane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from enso import wire
from enso.server import dialogs, looks, words
from enso.server.macros import Macros
from enso.server.tool_lines import terminal_end

if TYPE_CHECKING:
    from enso.server.streaming import StreamingMarkdown

LIVE_LINES = 100
LIVE_CHARACTERS = 8_000
"""How much of the end of a running tool's output is drawn."""


class Streams:
    """The growing texts of one thread's streaming message, each rendered block by block.

    One for a thread, whoever watches it; guarded by whoever guards the thread. Deltas are drawn
    against it, so every frame must be drawn once, in order. Keeps also the refused attempts that
    the thread ends in, because the next one joins them, and which message streamed last.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], StreamingMarkdown] = {}
        self.refused: list[wire.Message] = []
        self.streaming = ""

    def grow(self, key: str, message_id: str, index: int, delta: str) -> StreamingMarkdown:
        """The stream of one part with ``delta`` added; a new one when there is none."""
        # With it comes the parser of markdown: a page without a message needs none.
        from enso.server.streaming import StreamingMarkdown  # noqa: PLC0415

        at = (message_id, index)
        if at not in self._texts:
            self._texts[at] = StreamingMarkdown(_part_ids(key, message_id, index))
        stream = self._texts[at]
        stream.append(delta)
        return stream

    def html(self, key: str, message_id: str, index: int, content: str) -> Markup:
        """The HTML of one part whose whole text so far is ``content``."""
        stream = self._texts.get((message_id, index))
        if stream is None or stream.text != content:
            self._texts.pop((message_id, index), None)
            stream = self.grow(key, message_id, index, content)
        stream.update()
        return Markup(stream.html())  # noqa: S704 - cleaned where it was rendered

    def forget(self, message_id: str) -> None:
        """Drop a message that no longer streams."""
        for at in [at for at in self._texts if at[0] == message_id]:
            del self._texts[at]


def _part_ids(key: str, message_id: str, index: int) -> str:
    return f"{key}-{looks.dom_token(message_id)}-{index}"


def partial_of(target: str, swap: str, html: str) -> str:
    """One piece of a frame: ``html`` for the element with the id ``target``."""
    return f'<hx-partial hx-target="#{target}" hx-swap="{swap}">{html}</hx-partial>'


def _renaming(key: str, was: str, now: str) -> str:
    """The start of a frame for a message's element, which had other ids until now (``enso.js``).

    Its ids are changed first: an element whose id differs would be put in anew, not morphed.
    """
    renames = f' data-was="{key}-{was}" data-now="{key}-{now}"' if was != now else ""
    return f'<hx-partial hx-target="#m-{key}-{now}" hx-swap="outerMorph"{renames}>'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aim:
    """Where a frame goes: the thread's key, and what is known of the page."""

    key: str
    new: bool
    streams: Streams
    rail_href: str
    hrefs: Mapping[str, str]

    def stream(self) -> Callable[[str, int, str], Markup]:
        """Draws a streaming part for the templates."""
        return partial(self.streams.html, self.key)


PLACES = (
    "queue", "mode", "model", "name", "fork", "delete", "compact", "tree", "label", "commands",
    "files", "dialogs", "images",
)  # fmt: skip


def hrefs_under(base: str) -> Mapping[str, str]:
    """What can be done to the thread whose URL is ``base``, and where; nothing under no base."""
    return {place: f"{base}/{place}" for place in PLACES} if base else {}


class FrameDrawer:
    """Draws frames with the macros of the templates: messages, dialogs, controls."""

    def __init__(self, macros: Macros) -> None:
        self._macros = macros
        self._draw: dict[type[Any], Callable[[Any, _Aim], str]] = {
            wire.SnapshotFrame: self._snapshot,
            wire.StatusFrame: self._status,
            wire.MessageFrame: self._message,
            wire.MessageDroppedFrame: self._dropped,
            wire.PartFrame: self._part,
            wire.PartDeltaFrame: self._delta,
            wire.UsageFrame: self._usage,
            wire.NoticeFrame: self._notice,
            wire.RailFrame: self._rail,
            wire.ModeFrame: self._mode,
            wire.ModelFrame: self._model,
            wire.DialogFrame: self._dialog,
            wire.QueueFrame: self._queue,
            wire.ToolProgressFrame: self._progress,
            wire.SurfaceFrame: self._surface,
            wire.DraftFrame: self._draft,
            wire.HeartbeatFrame: self._nothing,
        }

    def draw(
        self,
        frame: wire.Frame,
        *,
        key: str,
        new: bool,
        streams: Streams,
        rail_href: str,
        base: str = "",
    ) -> str:
        """The frame as HTML; see ``Renderer.frame``."""
        hrefs = hrefs_under(base)
        aim = _Aim(key=key, new=new, streams=streams, rail_href=rail_href, hrefs=hrefs)
        return self._draw[type(frame)](frame, aim)

    # -- the whole state ------------------------------------------------------------------------

    def _snapshot(self, frame: wire.SnapshotFrame, aim: _Aim) -> str:
        drawn = looks.looks(frame.messages)
        aim.streams.refused = looks.refused_at_end(frame.messages)
        aim.streams.streaming = next((one.id for one in frame.messages if one.streaming), "")
        open_now = self._dialog_cards(frame.open_dialogs, aim)
        queue = self._macros.controls.queue(frame.queue, aim.key, aim.hrefs.get("queue", ""))
        inner = {
            "tail": self._macros.messages.messages(drawn, aim.key, aim.stream(), aim.hrefs),
            "interrupted": self._macros.said.interrupted(frame.interrupted),
            "dialogs": open_now,
            "status": self._macros.said.status(frame.status, not frame.messages, aim.key),
            "usage": self._macros.said.usage(frame.usage),
            "context": self._macros.said.context(frame.context),
            "queue": queue,
            "surface": self._macros.said.surface(frame.surface),
        }
        pieces = [partial_of(f"{at}-{aim.key}", "innerMorph", html) for at, html in inner.items()]
        mode = wire.ModeFrame(permission_mode=frame.permission_mode)
        model = self._model(wire.ModelFrame(model=frame.model), aim) if frame.model else ""
        return "".join((*pieces, self._mode(mode, aim), model))

    def _status(self, frame: wire.StatusFrame, aim: _Aim) -> str:
        # Not morphed: a line that is spoken aloud must change as a whole to be spoken.
        html = self._macros.said.status(frame, False, aim.key)
        return partial_of(f"status-{aim.key}", "innerHTML", html)

    # -- messages -------------------------------------------------------------------------------

    def _message(self, frame: wire.MessageFrame, aim: _Aim) -> str:
        message = frame.message
        stood = frame.replaces or message.id
        if message.streaming:
            aim.streams.streaming = message.id
        else:
            aim.streams.forget(stood)
        joined = self._attempts(message, aim, stood)
        if joined:
            return joined
        html = self._macros.messages.message(
            looks.message_look(message), aim.key, aim.stream(), aim.hrefs
        )
        if not aim.new:
            was = looks.dom_token(stood)
            return f"{_renaming(aim.key, was, looks.dom_token(message.id))}{html}</hx-partial>"
        return partial_of(f"tail-{aim.key}", "beforeend", html) + self._goes_on(aim)

    def _goes_on(self, aim: _Aim) -> str:
        """What a new message takes away: the torn tail that it continues, and what was answered."""
        return partial_of(f"interrupted-{aim.key}", "innerHTML", "") + partial_of(
            f"dialogs-{aim.key} > :has(> .outcome)", "delete", ""
        )

    def _attempts(self, message: wire.Message, aim: _Aim, streamed_as: str) -> str:
        """The bubble of all refused attempts in a row, when this is another; else nothing."""
        before = aim.streams.refused
        ended = streamed_as == aim.streams.streaming and message.id not in {m.id for m in before}
        if message.streaming or not (aim.new or ended):
            return ""  # what stood there before is no other attempt: its label changed
        if not looks.is_refused(message):
            aim.streams.refused = []
            return ""
        aim.streams.refused = [*before, message]
        if not before:
            return ""
        (look,) = looks.looks(aim.streams.refused)
        html = self._macros.messages.attempts(look, aim.key, aim.stream())
        first = looks.dom_token(before[0].id)
        stood = f"attempts-{aim.key}-{first}" if len(before) > 1 else f"m-{aim.key}-{first}"
        # Where it streamed it goes away; then the bubble takes the place of the one before.
        streamed = partial_of(f"m-{aim.key}-{looks.dom_token(streamed_as)}", "delete", "")
        return ("" if aim.new else streamed) + partial_of(stood, "outerMorph", html)

    def _dropped(self, frame: wire.MessageDroppedFrame, aim: _Aim) -> str:
        aim.streams.forget(frame.message_id)
        return partial_of(f"m-{aim.key}-{looks.dom_token(frame.message_id)}", "delete", "")

    def _part(self, frame: wire.PartFrame, aim: _Aim) -> str:
        token = looks.dom_token(frame.message_id)
        before: list[wire.MessagePart] = [wire.TextPart(content="")] * frame.index
        message = wire.Message(
            id=frame.message_id, role="assistant", parts=[*before, frame.part], streaming=True
        )
        look = looks.part_look(message, frame.index)
        html = self._macros.messages.part(look, aim.key, token, message, aim.stream(), aim.hrefs)
        if aim.new:
            return partial_of(f"mp-{aim.key}-{token}", "beforeend", html)
        return partial_of(f"p-{aim.key}-{token}-{frame.index}", "outerMorph", html)

    def _delta(self, frame: wire.PartDeltaFrame, aim: _Aim) -> str:
        stream = aim.streams.grow(aim.key, frame.message_id, frame.index, frame.delta)
        return "".join(partial_of(*piece) for piece in stream.update().pieces)

    def _progress(self, frame: wire.ToolProgressFrame, aim: _Aim) -> str:
        at = f"{looks.dom_token(frame.message_id)}-{looks.dom_token(frame.call_id)}"
        tail = terminal_end(frame.text, lines=LIVE_LINES, characters=LIVE_CHARACTERS).text
        return partial_of(f"pr-{aim.key}-{at}", "innerHTML", escape(tail))

    # -- what waits for a person, and what a person set ------------------------------------------

    def _dialog_cards(self, open_dialogs: Iterable[wire.Dialog], aim: _Aim) -> str:
        href = aim.hrefs.get("dialogs", "")
        cards = [dialogs.dialog_look(dialog, href) for dialog in open_dialogs]
        return self._macros.dialogs.dialogs(cards, aim.key)

    def _dialog(self, frame: wire.DialogFrame, aim: _Aim) -> str:
        if frame.dialog is not None:
            card = self._dialog_cards([frame.dialog], aim)
            return partial_of(f"dialogs-{aim.key}", "beforeend", card)
        at = f"{aim.key}-{looks.dom_token(frame.closed or '')}"
        if frame.outcome == "stopped":
            return partial_of(f"d-{at}", "delete", "")
        line = self._macros.dialogs.outcome(dialogs.outcome_words(frame.outcome or ""))
        return partial_of(f"da-{at}", "outerHTML", line)

    def _queue(self, frame: wire.QueueFrame, aim: _Aim) -> str:
        html = self._macros.controls.queue(frame.queue, aim.key, aim.hrefs.get("queue", ""))
        return partial_of(f"queue-{aim.key}", "innerMorph", html)

    def _mode(self, frame: wire.ModeFrame, aim: _Aim) -> str:
        now = frame.permission_mode
        label = self._macros.controls.mode_label(now.modes, now.mode)
        choices = self._macros.controls.modes(now.modes, now.mode)
        about = self._macros.controls.mode_about(now.modes, now.mode)
        return (
            partial_of(f"mode-{aim.key}", "innerHTML", label)
            + partial_of(f"modes-{aim.key}", "innerMorph", choices)
            + partial_of(f"welcome-mode-{aim.key}", "innerHTML", about)
        )

    def _model(self, frame: wire.ModelFrame, aim: _Aim) -> str:
        if frame.model is None:
            return ""
        now = frame.model
        label = self._macros.controls.model_label(now.provider, now.model, now.label)
        level = self._macros.controls.level_label(now.level if words.thinks(now.levels) else None)
        levels = self._macros.controls.levels(now.provider, now.model, now.levels, now.level)
        return (
            partial_of(f"model-{aim.key}", "innerHTML", label)
            + partial_of(f"welcome-model-{aim.key}", "innerHTML", escape(now.label))
            + partial_of(f"level-{aim.key}", "innerHTML", level)
            + partial_of(f"levels-{aim.key}", "innerMorph", levels)
        )

    # -- the rest -------------------------------------------------------------------------------

    def _usage(self, frame: wire.UsageFrame, aim: _Aim) -> str:
        usage = partial_of(f"usage-{aim.key}", "innerHTML", self._macros.said.usage(frame.usage))
        context = self._macros.said.context(frame.context)
        return usage + partial_of(f"context-{aim.key}", "innerHTML", context)

    def _notice(self, frame: wire.NoticeFrame, aim: _Aim) -> str:
        # Beside the composer: what comes while one reads is not said above a long log.
        return partial_of(
            f"told-{aim.key}", "innerHTML", self._macros.said.told(frame.message, frame.links or ())
        )

    def _surface(self, frame: wire.SurfaceFrame, aim: _Aim) -> str:
        html = self._macros.said.surface(frame.surface)
        return partial_of(f"surface-{aim.key}", "innerMorph", html)

    def _draft(self, frame: wire.DraftFrame, aim: _Aim) -> str:
        return partial_of(f"draft-{aim.key}", "innerHTML", escape(frame.text))

    def _rail(self, _frame: wire.RailFrame, aim: _Aim) -> str:
        return partial_of("rail-news", "innerHTML", self._macros.said.rail_news(aim.rail_href))

    def _nothing(self, _frame: Any, _aim: _Aim) -> str:
        return ""
