"""The command line: ``python app.py`` and ``python -m enso``.

Options say the same as the environment variables of ``enso.settings`` and win over them.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from enso.server.application import EnsoServer
from enso.server.security import Doors
from enso.server.serving import CannotListen, Serving, listen
from enso.settings import Settings

BuildServer = Callable[[Settings, Doors], EnsoServer]


def parse(argv: Sequence[str] | None) -> Settings:
    """Settings from options and environment; raises pydantic's ``ValidationError``."""
    parser = argparse.ArgumentParser(
        prog="enso", description="A web host for coding-agent threads."
    )
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (7433); 0 takes a free one")
    parser.add_argument(
        "--project",
        action="append",
        type=Path,
        metavar="DIR",
        help="a directory to serve; may be given several times (the current directory)",
    )
    parser.add_argument(
        "--agent-dir",
        type=Path,
        metavar="DIR",
        help="where sessions, models.json and auth.json are kept (~/.pi/agent)",
    )
    given = parser.parse_args(argv)
    options: dict[str, Any] = {
        "host": given.host,
        "port": given.port,
        "projects": tuple(given.project) if given.project else None,
        "agent_dir": given.agent_dir,
    }
    return Settings(**{name: value for name, value in options.items() if value is not None})


def _first_fault(invalid: ValidationError) -> str:
    fault = invalid.errors(include_url=False)[0]
    where = ".".join(str(step) for step in fault["loc"])
    return f"{where}: {fault['msg']} (given: {fault['input']!r})"


def _check_runtime(settings: Settings) -> None:
    if settings.runtime == "pi":
        raise ValueError(
            "ENSO_RUNTIME=pi is not there yet: threads run with the built-in runtime. "
            "Set it to builtin or auto."
        )


def main(build: BuildServer, argv: Sequence[str] | None = None) -> int:
    """Serve until told to end; returns the exit code, 2 for settings that cannot be served."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    try:
        settings = parse(argv)
        _check_runtime(settings)
        token = settings.token.get_secret_value() if settings.token else None
        doors = Doors.of(host=settings.host, token=token)
        bound = listen(settings.host, settings.port)
    except ValidationError as invalid:
        print(f"enso: {_first_fault(invalid)}", file=sys.stderr)  # noqa: T201
        return 2
    except (ValueError, CannotListen) as refused:
        print(f"enso: {refused}", file=sys.stderr)  # noqa: T201
        return 2
    for project in settings.projects:
        if not project.is_dir():
            gone = f"{project} is no directory: threads of it can be read, not continued."
            print(f"enso: {gone}", file=sys.stderr)  # noqa: T201
    Serving(bound, lambda: build(settings, doors)).run()
    return 0
