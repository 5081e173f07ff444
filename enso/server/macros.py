"""The macros of the templates that are called from Python, each file compiled when it is needed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from jinja2 import Environment


class Macros:
    """The macros of one environment. A start that shows no message does without most of them."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    @cached_property
    def messages(self) -> Any:
        """What stands in the log."""
        return self._of("_messages.html")

    @cached_property
    def said(self) -> Any:
        """What is said of a thread and beside its messages."""
        return self._of("_said.html")

    @cached_property
    def dialogs(self) -> Any:
        """What the agent asks."""
        return self._of("_dialogs.html")

    @cached_property
    def controls(self) -> Any:
        """What a thread runs with, and what waits in it."""
        return self._of("_controls.html")

    def _of(self, template: str) -> Any:
        return self._environment.get_template(template).module
