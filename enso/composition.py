"""The composition root: which host and which runtime a server has, by its settings."""

from __future__ import annotations

from typing import Any

from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.server.application import EnsoServer, Limits
from enso.server.readings import Readings
from enso.server.security import Doors
from enso.settings import Settings


def build_server(settings: Settings, doors: Doors) -> EnsoServer:
    """A server over the session files of the agent directory and the built-in runtime."""
    limits = Limits(idle_seconds=settings.idle_seconds)
    host, projects = _store(settings)
    return EnsoServer(
        host=host, projects=projects, doors=doors, limits=limits, settings=told(settings)
    )


def build_readings(settings: Settings) -> Readings:
    """The readings of the same store, without a server."""
    host, projects = _store(settings)
    return Readings(host=host, projects=projects)


def _store(settings: Settings) -> tuple[SessionHost, Projects]:
    projects = Projects(settings.projects)
    runtimes = BuiltinRuntimes(settings.agent_dir, settings.model, spend_limit=settings.spend_limit)
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
