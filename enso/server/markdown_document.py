"""A thread as Markdown: what a person reads in the pane, as a document for any Markdown reader.

Whatever a person, a tool or a model said stands where it cannot reach beyond: in a fence longer
than any in it, or, for a model's reply, as the Markdown that it is, when a reader would take it for
no more than text. Raw HTML, remote images, link definitions or a fence that never ends make a reply
a fence too. Lines of tools are those of the pane (``enso.server.looks``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from enso import wire
from enso.server import words
from enso.server.looks import TAIL_WORDS, AttemptsLook, MessageLook, PartLook, RunLook, each_look
from enso.server.tame_markdown import tamed
from enso.server.tool_lines import WHOLE, ToolLook
from enso.server.views import ExportView

_TICKS = re.compile(r"`+")
_MARKS = re.compile(r"([\\`*_\[\]<>#!|~&$])")


def markdown_document(view: ExportView) -> Iterator[str]:
    """The document in pieces; nothing is cut. Images stand at its end, where they are in no way."""
    images: list[wire.ImagePart] = []
    yield f"# {escaped(view.title)}\n\n"
    for name, said in view.facts:
        yield f"- {name}: {escaped(said)}\n"
    for note in view.notes:
        yield f"\n*{escaped(note)}*\n"
    yield from _Log(images).pieces(view.messages)
    if view.interrupted:
        yield f"\n*{escaped(' '.join(TAIL_WORDS[view.interrupted]))}*\n"
    for number, image in enumerate(images, 1):
        yield f"\n[image-{number}]: {image.url}\n"


def fenced(text: str, language: str = "text") -> str:
    """``text`` as it is, in a fence that nothing in it ends."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}\n"


def code_span(text: str) -> str:
    """``text`` on one line in code type; empty for blank text."""
    line = " ".join(text.split())
    if not line:
        return ""
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def escaped(text: str) -> str:
    """``text`` on one line, as text wherever it stands in a line that began with other words."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


class _Log:
    """Writes messages under one another; ``images`` takes those that the end of the text holds."""

    def __init__(self, images: list[wire.ImagePart]) -> None:
        self._images = images
        self._speaker = ""

    def pieces(self, messages: Iterable[wire.Message]) -> Iterator[str]:
        """Every message, in order."""
        for look in each_look(messages, WHOLE):
            if isinstance(look, RunLook):
                members = look.looks
            elif isinstance(look, AttemptsLook):
                members = (*look.earlier, look.last)
            else:
                members = (look,)
            for member in members:
                yield from (f"\n{block}" for block in self._message(member))

    def _message(self, look: MessageLook) -> Iterator[str]:
        message = look.message
        if message.role == "marker":
            yield f"*{escaped(message.title or 'Note')}*\n"
            for part in message.parts:
                if isinstance(part, wire.TextPart):
                    yield fenced(part.content)
            return
        yield from self._heading(message)
        for part in look.parts:
            yield from self._part(part)
        yield from _after(look)

    def _heading(self, message: wire.Message) -> Iterator[str]:
        """Who speaks, where that changes."""
        if message.role == "assistant" and self._speaker == "assistant":
            return
        self._speaker = message.role
        who = "You" if message.role == "user" else "Agent"
        model = escaped(message.model or "")
        told = words.moment(message.created_at) if message.created_at else ""
        yield f"## {' · '.join(word for word in (who, model, told) if word)}\n"

    def _part(self, look: PartLook) -> Iterator[str]:
        if look.kind == "run":
            for member in look.run:
                yield from self._part(member)
        elif look.tool is not None:
            yield from self._tool(look.tool)
        elif isinstance(look.part, wire.ImagePart):
            yield self._picture(look.part)
        elif look.kind == "thinking":
            yield from _thinking(look.text)
        elif look.kind == "written":
            yield fenced(look.text)
        else:
            yield _reply(look.text)

    def _tool(self, look: ToolLook) -> Iterator[str]:
        notes = ", ".join(escaped(note.text) for note in look.notes)
        line = f"{code_span(look.name)} {code_span(look.subject)}".rstrip()
        yield f"**Tool** {line}{f' ({notes})' if notes else ''}\n"
        if look.arguments:
            yield fenced(look.arguments.text)
        if look.diff:
            yield fenced("\n".join(line.text for line in look.diff), "diff")
        if look.output:
            yield fenced(look.output.text)
        for image in look.images:
            yield self._picture(image)

    def _picture(self, image: wire.ImagePart) -> str:
        kind = escaped(image.mime_type or "unknown")
        if not image.url:
            return f"*An image of the kind “{kind}” is not shown.*\n"
        self._images.append(image)
        return f"![An image ({kind})][image-{len(self._images)}]\n"


def _reply(text: str) -> str:
    """A model's text as the Markdown that it is, where that stays text; else as it was written."""
    tame = tamed(text)
    return f"{tame}\n" if tame is not None else fenced(text, "markdown")


def _thinking(text: str) -> Iterator[str]:
    if not text:
        yield "*Thought, not shown by its provider.*\n"
        return
    yield "*Thought:*\n"
    tame = tamed(text)
    if tame is None:
        yield fenced(text, "markdown")
    else:
        yield "".join(f"> {line}\n" for line in tame.split("\n"))


def _after(look: MessageLook) -> Iterator[str]:
    """How a message ended, where that is not by itself."""
    message = look.message
    if message.refusal:
        yield f"**Refused:** {escaped(message.refusal.sentence)}\n"
    elif message.stop_reason == "aborted":
        yield "*Stopped.*\n"
    elif message.stop_reason == "length":
        yield "*Cut off at the model’s output limit.*\n"
    elif not look.parts and not message.streaming:
        yield f"*{'An empty message' if message.role == 'user' else 'An empty reply'}.*\n"
