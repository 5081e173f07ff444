"""Values of ``models.json`` and ``auth.json`` that stand for something else: keys and headers.

``$NAME`` and ``${NAME}`` are environment variables, ``$$`` and ``$!`` are the characters, and a
value that begins with ``!`` is a command whose output is the value. Source: pi 1.6.0,
``docs/models.md``. Knows nothing of what the value is for.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from typing import Final

COMMAND_SECONDS: Final = 10.0
"""How long a ``!command`` may take."""

_REFERENCE: Final = re.compile(
    r"\$(?:(?P<literal>[$!])|(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", re.ASCII
)
_NO_VARIABLES: Final[Mapping[str, str]] = {}


class ValueNotResolved(Exception):
    """A value cannot be had: ``str()`` says why, without the value and without the command."""


def missing_variables(value: str, variables: Mapping[str, str] = _NO_VARIABLES) -> list[str]:
    """The environment variables that ``value`` needs and that are not set, each once.

    ``variables`` come before those of the process. A ``!command`` needs none: it is not run.
    """
    if value.startswith("!"):
        return []
    names = [match["bare"] or match["braced"] for match in _REFERENCE.finditer(value)]
    return list(dict.fromkeys(name for name in names if name and not _variable(name, variables)))


def resolve(value: str, variables: Mapping[str, str] = _NO_VARIABLES) -> str:
    """What ``value`` stands for now. Runs a ``!command``, so it may block for ten seconds.

    Raises ``ValueNotResolved``.
    """
    if value.startswith("!"):
        return _output_of(value[1:], variables)
    missing = missing_variables(value, variables)
    if missing:
        raise ValueNotResolved(f"the environment variable {missing[0]} is not set")
    return _REFERENCE.sub(_replacement(variables), value)


def _variable(name: str, variables: Mapping[str, str]) -> str:
    return variables.get(name) or os.environ.get(name) or ""


def _replacement(variables: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        return match["literal"] or _variable(match["bare"] or match["braced"], variables)

    return replace


def _output_of(command: str, variables: Mapping[str, str]) -> str:
    """The trimmed output of a shell command. Raises ``ValueNotResolved``."""
    try:
        status, output = _run(command, {**os.environ, **variables})
    except subprocess.TimeoutExpired as error:
        raise ValueNotResolved(f"its command took more than {COMMAND_SECONDS:g} seconds") from error
    except (OSError, ValueError) as error:
        raise ValueNotResolved("its command could not be started") from error
    if status != 0:
        raise ValueNotResolved(f"its command ended with exit status {status}")
    if not output.strip():
        raise ValueNotResolved("its command wrote nothing")
    return output.strip()


def _run(command: str, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run it in a session of its own, so that what it started ends with it when time is up."""
    with subprocess.Popen(  # noqa: S602 - the person's own configuration asks for a shell
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, output.decode("utf-8", "replace")
