"""The composition root: which host and which runtime a server has, by its settings.

What a function builds of is imported when it builds: a runtime that is not chosen is not loaded,
and the process that only watches over the server loads nothing of it.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any

from enso.projects import Projects

if TYPE_CHECKING:
    from enso.host.runtime_factory import RuntimeFactory
    from enso.host.runtimes.pi.program import Programs
    from enso.host.session_host import SessionHost
    from enso.server.application import EnsoServer
    from enso.server.doors import Doors
    from enso.server.readings import Readings
    from enso.settings import Settings

log = logging.getLogger(__name__)


def build_server(settings: Settings, doors: Doors) -> EnsoServer:
    """A server over the session files of the agent directory and the runtime that is set."""
    from enso.server.application import EnsoServer, Limits  # noqa: PLC0415

    limits = Limits(idle_seconds=settings.idle_seconds)
    host, projects = _store(settings)
    return EnsoServer(
        host=host,
        projects=projects,
        doors=doors,
        limits=limits,
        settings=told(settings),
        cache_dir=settings.cache_dir,
    )


def build_readings(settings: Settings) -> Readings:
    """The readings of the same store, without a server."""
    from enso.server.readings import Readings  # noqa: PLC0415

    host, projects = _store(settings)
    return Readings(host=host, projects=projects)


def _store(settings: Settings) -> tuple[SessionHost, Projects]:
    from enso.host.session_host import SessionHost  # noqa: PLC0415

    projects = Projects(settings.projects)
    runtimes = _runtimes(settings)
    host = SessionHost(
        agent_dir=settings.agent_dir,
        projects=projects,
        runtimes=runtimes,
        cache_dir=settings.cache_dir,
    )
    return host, projects


def told(settings: Settings) -> dict[str, Any]:
    """The settings as they can be told: the token only as there or not."""
    shown = settings.model_dump(mode="json", exclude={"token"})
    return {**shown, "token": "set" if settings.token else "not set"}


def check_runtime(settings: Settings) -> None:
    """Raises ``ValueError`` when pi is to run threads and there is none that Enso can run."""
    if settings.runtime == "pi":
        from enso.host.runtimes.pi.program import PiUnusable, find_pi  # noqa: PLC0415

        try:
            _programs().ask(find_pi())
        except PiUnusable as error:
            raise ValueError(f"ENSO_RUNTIME=pi: {error}") from error


@cache
def _programs() -> Programs:
    """What is known of programs' versions: what the start asked, no first prompt asks again."""
    from enso.host.runtimes.pi.program import Programs  # noqa: PLC0415

    return Programs()


def _runtimes(settings: Settings) -> RuntimeFactory:
    """What runs threads. ``auto`` is pi where Enso finds a pi 1.x, else the built-in runtime."""
    if settings.runtime == "pi" or (settings.runtime == "auto" and _has_pi()):
        from enso.host.runtimes.pi import PiRuntimes  # noqa: PLC0415

        return PiRuntimes(settings.agent_dir, settings.model, programs=_programs())
    from enso.host.runtimes.builtin import BuiltinRuntimes  # noqa: PLC0415

    return BuiltinRuntimes(settings.agent_dir, settings.model, spend_limit=settings.spend_limit)


def _has_pi() -> bool:
    """Whether the pi on the ``PATH`` is a 1.x; one that cannot be run is said."""
    from enso.host.runtimes.pi.program import PiUnusable, find_pi  # noqa: PLC0415

    command = find_pi()
    if command is None:
        return False
    try:
        return not _programs().ask(command).version.startswith("0.")
    except PiUnusable as error:
        log.warning("ENSO_RUNTIME=auto takes the built-in runtime: %s", error)
        return False
