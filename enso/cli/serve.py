"""``enso serve``: the web server, until it is told to end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from enso.cli.terminal import complain
from enso.server.doors import Doors
from enso.server.serving import CannotListen, Serving, listen
from enso.settings import Settings

if TYPE_CHECKING:
    from enso.server.application import EnsoServer

BuildServer: TypeAlias = "Callable[[Settings, Doors], EnsoServer]"
Check = Callable[[Settings], None]


def nothing_to_check(_settings: Settings) -> None:
    """For who builds what needs no looking at."""


def doors_of(settings: Settings) -> Doors:
    """The doors that these settings ask for; raises ``ValueError`` where a token is missing."""
    token = settings.token.get_secret_value() if settings.token else None
    return Doors.of(host=settings.host, token=token)


def run(build: BuildServer, settings: Settings, check: Check = nothing_to_check) -> int:
    """Serve; returns the exit code, 2 for settings that cannot be served.

    ``check`` raises ``ValueError`` for what only shows when it is tried; nothing is built by then.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    try:
        check(settings)
        doors = doors_of(settings)
        bound = listen(settings.host, settings.port)
    except (ValueError, CannotListen) as refused:
        return complain(str(refused))
    for project in settings.projects:
        if not project.is_dir():
            complain(f"{project} is no directory: threads of it can be read, not continued.")
    Serving(bound, lambda: build(settings, doors)).run()
    return 0
