"""What waits and what can be chosen, as it is sent: dialogs, queue, activity, commands."""

from __future__ import annotations

from collections.abc import Iterable

from enso import wire
from enso.host import contract
from enso.server.shapes import iso_time, json_value, mended
from enso.server.terminal_text import terminal_text


def dialog_shape(dialog: contract.Dialog) -> wire.Dialog:
    """A dialog as it is sent."""
    tool = None
    if dialog.tool_name:
        tool = wire.DialogTool(
            name=mended(dialog.tool_name), arguments=json_value(dialog.arguments)
        )
    return wire.Dialog(
        id=dialog.id,
        kind=dialog.kind,
        title=mended(dialog.title),
        message=mended(dialog.message) or None,
        options=[
            wire.DialogOption(value=mended(option.value), label=mended(option.label))
            for option in dialog.options
        ],
        tool=tool,
        directory=mended(dialog.directory) or None,
        draft=mended(dialog.draft) or None,
        placeholder=mended(dialog.placeholder) or None,
        created_at=iso_time(dialog.created_at),
        expires_at=iso_time(dialog.expires_at),
    )


def _shown(text: str) -> str:
    """Text that an extension wrote for a terminal, without what only a terminal understands."""
    return terminal_text(mended(text))


def queue_shape(items: Iterable[contract.QueuedPrompt]) -> list[wire.QueuedPrompt]:
    """The queue as it is sent."""
    return [
        wire.QueuedPrompt(
            id=item.id,
            message=mended(item.message),
            when=item.when,
            fixed=None if item.can_be_taken_back else True,
        )
        for item in items
    ]


def surface_shape(surface: contract.Surface) -> wire.Surface:
    """What extensions show, as it is sent."""
    return wire.Surface(
        statuses=[_shown(status) for status in surface.statuses],
        widgets=[
            wire.Widget(
                key=_shown(widget.key),
                lines=[_shown(line) for line in widget.lines],
                below=widget.below,
            )
            for widget in surface.widgets
        ],
        title=_shown(surface.title) or None,
    )


def shown_surface(surface: contract.Surface) -> wire.Surface | None:
    """The same; ``None`` when nothing is shown."""
    return surface_shape(surface) if surface != contract.Surface() else None


def activity_shape(activity: contract.Activity | None) -> wire.Activity | None:
    """What a run is doing, as it is sent; ``None`` while it has said nothing."""
    if activity is None:
        return None
    return wire.Activity(
        kind=activity.kind,
        detail=mended(activity.detail),
        until=iso_time(activity.until),
        attempt=activity.attempt or None,
        attempts=activity.attempts or None,
        fixed=None if activity.can_be_cut_short else True,
    )


def command_shape(command: contract.Command) -> wire.Command:
    """A slash command, as it is sent."""
    return wire.Command(
        name=mended(command.name),
        description=mended(command.description),
        source=command.source,
        argument_hint=mended(command.argument_hint) or None,
    )
