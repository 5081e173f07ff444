"""How a dialog reads: what is asked, what can be answered, and what became of it, in words.

Knows the kinds of dialogs and the words of their answers. Makes no HTML, and knows no route: where
an answer goes is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from enso import wire
from enso.server.looks import dom_token
from enso.server.previews import Preview, preview
from enso.server.unseen import visible

PERMISSION = (
    wire.DialogOption(value="once", label="Once"),
    wire.DialogOption(value="thread", label="For this thread"),
    wire.DialogOption(value="deny", label="Deny"),
)
CONFIRM = (
    wire.DialogOption(value="yes", label="Yes"),
    wire.DialogOption(value="no", label="No"),
)
OUTCOMES: Mapping[str, str] = {
    "once": "Allowed once",
    "thread": "Allowed for this thread",
    "deny": "Denied",
    "yes": "Yes",
    "no": "No",
    "cancelled": "Put away without an answer",
    "stopped": "Stopped before an answer",
    "expired": "Nobody answered in time",
}
MAX_OUTCOME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogLook:
    """What the templates draw of a dialog. ``href``: where it is answered.

    ``deny`` is the answer that can have a reason; it stands apart from ``choices``.
    """

    dialog: wire.Dialog
    token: str
    href: str
    title: str
    message: str
    call: Preview | None
    choices: tuple[wire.DialogOption, ...]
    deny: wire.DialogOption | None


def dialog_look(dialog: wire.Dialog, dialogs_href: str) -> DialogLook:
    """How ``dialog`` reads; it is answered under ``dialogs_href``."""
    options = _options(dialog)
    asks = dialog.kind == "permission"
    call = preview(dialog.tool, dialog.directory or "") if dialog.tool else None
    return DialogLook(
        dialog=dialog,
        token=dom_token(dialog.id),
        href=under(dialogs_href, dialog.id),
        title=visible(dialog.title.strip()) or "The agent asks",
        message=_beside(visible(dialog.message or ""), call),
        call=call,
        choices=tuple(option for option in options if not asks or option.value != "deny"),
        deny=next((option for option in options if asks and option.value == "deny"), None),
    )


def _beside(message: str, call: Preview | None) -> str:
    """A message without the paragraph that says once more what the call does."""
    if call is None:
        return message
    first, _, rest = message.strip().partition("\n\n")
    told = {_letters(call.subject), _letters(call.text.text if call.text else "")}
    return rest if _letters(first) in told else message


def _letters(text: str) -> str:
    """A text without white space and signs of a line's end, in which two texts are compared."""
    return "".join(text.replace("⏎", " ").split())


def _options(dialog: wire.Dialog) -> Sequence[wire.DialogOption]:
    usual = {"permission": PERMISSION, "confirm": CONFIRM}
    return dialog.options or usual.get(dialog.kind, ())


def outcome_words(outcome: str) -> str:
    """What became of a dialog, as a sentence's start: ``Allowed once``, ``Answered: blue``."""
    if outcome in OUTCOMES:
        return OUTCOMES[outcome]
    answer = " ".join(visible(outcome[: MAX_OUTCOME * 4]).split())
    cut = answer if len(answer) <= MAX_OUTCOME else f"{answer[: MAX_OUTCOME - 1]}…"
    return f"Answered: {cut}" if cut else "Answered"


def under(href: str, *pieces: str) -> str:
    """The link ``pieces`` below another; its query parameters stay at the end."""
    path, mark, query = href.partition("?")
    below = "/".join((path, *(quote(piece, safe="", errors="replace") for piece in pieces)))
    return f"{below}{mark}{query}"
