"""The slash commands that are Enso's own. Whoever takes one from a person calls the contract."""

from __future__ import annotations

from typing import Final

from enso.host.contract import Command

ENSO_COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        name="compact",
        description="Sum up the conversation so far, to make room.",
        source="enso",
        argument_hint="[what to keep]",
    ),
    Command(
        name="export",
        description="Take this thread away as a file.",
        source="enso",
        argument_hint="[html|md|jsonl]",
    ),
    Command(
        name="fork", description="Go on in a new thread, from the end of this one.", source="enso"
    ),
    Command(name="help", description="List the commands.", source="enso"),
    Command(
        name="mode",
        description="Choose what the agent may do without asking.",
        source="enso",
        argument_hint="[plan|ask|edit|auto]",
    ),
    Command(
        name="model",
        description="Choose the model and its thinking level.",
        source="enso",
        argument_hint="[provider/model] [level]",
    ),
    Command(name="name", description="Name this thread.", source="enso", argument_hint="[name]"),
    Command(name="tree", description="Show every branch, and go to another place.", source="enso"),
)
