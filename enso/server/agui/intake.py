"""What an AG-UI request asks of a thread: a prompt, answers to dialogs, or only to see it.

The conversation is the thread's own. Of the client's copy of it one message counts: the last, when
it is a person's.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ag_ui.core import DataSource, ImagePart, RunAgentInput, TextPart, UserMessage
from ag_ui.core.types import ResumeEntry

from enso import wire
from enso.host.contract import PromptImage
from enso.server.refusals import Refused

Answers = Sequence[tuple[str, wire.DialogAnswer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """One request. ``message`` is ``None`` when nothing is said; ``answers`` are by dialog id."""

    message: str | None
    message_id: str
    images: list[PromptImage]
    answers: Answers
    project_id: str | None
    brings_tools: bool


def intake(asked: RunAgentInput) -> Intake:
    """Read a request; raises ``Refused`` 400 for what a thread cannot take."""
    last = asked.messages[-1] if asked.messages else None
    text: str | None = None
    images: list[PromptImage] = []
    if isinstance(last, UserMessage) and not asked.resume:
        text, images = _said(last)
    properties = asked.forwarded_props
    project = (
        cast("Mapping[str, Any]", properties).get("projectId")
        if isinstance(properties, dict)
        else None
    )
    return Intake(
        message=text,
        message_id=last.id if last is not None else "",
        images=images,
        answers=[(entry.interrupt_id, _answer(entry)) for entry in asked.resume or ()],
        project_id=project if isinstance(project, str) else None,
        brings_tools=bool(asked.tools),
    )


def _said(message: UserMessage) -> tuple[str, list[PromptImage]]:
    """A person's message as a prompt: its texts joined by lines, and its images."""
    if isinstance(message.content, str):
        return message.content, []
    texts: list[str] = []
    images: list[PromptImage] = []
    for part in message.content:
        if isinstance(part, TextPart):
            texts.append(part.text)
        elif isinstance(part, ImagePart) and isinstance(part.source, DataSource):
            images.append(_image(part.source))
        else:
            raise Refused(
                400,
                "content-kind",
                f"A part of the kind “{part.type}” cannot be sent as it is: "
                "use text, and images as data.",
            )
    return "\n".join(texts), images


def _image(source: DataSource) -> PromptImage:
    try:
        base64.b64decode(source.value, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(400, "invalid-image", "An image's data must be base64.") from None
    return PromptImage(source.mime_type, source.value)


def _answer(entry: ResumeEntry) -> wire.DialogAnswer:
    """A resume entry as a dialog's answer: ``payload`` is the value, or ``{value, reason?}``."""
    if entry.status == "cancelled":
        return wire.DialogAnswer(cancelled=True)
    payload = entry.payload
    if isinstance(payload, bool):
        payload = "yes" if payload else "no"
    if isinstance(payload, str):
        return wire.DialogAnswer(value=payload)
    if isinstance(payload, dict):
        fields = cast("Mapping[str, Any]", payload)
        value, reason = fields.get("value"), fields.get("reason")
        if isinstance(value, str) and (reason is None or isinstance(reason, str)):
            return wire.DialogAnswer(value=value, reason=reason)
    raise Refused(
        400, "answer-shape", "Answer with the value as text, or as {value, reason}: see the schema."
    )
