"""The command line: ``enso``, ``python -m enso`` and, in a checkout, ``python app.py``.

Without a command it serves. Every other command reads what the server reads, needs none, and
builds and writes nothing. Options say the same as the environment variables of ``enso.settings``
and win over them. A command loads what it needs, and no other one's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pydantic import ValidationError

from enso.cli import serve
from enso.cli.options import first_fault, parse, settings_of
from enso.cli.serve import BuildServer, Check, nothing_to_check
from enso.cli.terminal import complain
from enso.server.refusals import Refused
from enso.settings import Settings

if TYPE_CHECKING:
    from enso.cli.looking import Given
    from enso.server.readings import Readings

BuildReadings: TypeAlias = "Callable[[Settings], Readings]"


def main(
    build: BuildServer,
    argv: Sequence[str] | None = None,
    *,
    readings: BuildReadings | None = None,
    check: Check = nothing_to_check,
) -> int:
    """Run one command; returns the exit code.

    2: what was asked for cannot be done, which is said in a sentence. 1: ``doctor`` found something
    that would not work, or nobody reads what is printed any more.
    """
    given = parse(argv)
    try:
        settings = settings_of(given)
        if given.command is None or given.command == "serve" or readings is None:
            return serve.run(build, settings, check)
        return _look(given.command, readings, settings, given)
    except ValidationError as invalid:
        if given.command == "doctor":
            from enso.cli import doctor  # noqa: PLC0415

            return doctor.say_invalid(first_fault(invalid))
        return complain(first_fault(invalid))
    except Refused as refused:
        return complain(refused.sentence)
    except BrokenPipeError:
        # What is still to be flushed at the end has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _look(command: str, build: BuildReadings, settings: Settings, given: Given) -> int:
    from enso.cli import doctor, looking  # noqa: PLC0415

    store = build(settings)
    try:
        if command == "doctor":
            return doctor.run(store, settings)
        return looking.COMMANDS[command](store, given)
    finally:
        store.close()
