"""``enso doctor``: what is configured, what would not work, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from enso.cli.serve import doors_of
from enso.cli.terminal import say
from enso.server.readings import Check, Readings
from enso.server.resources import static_dir, template_dir
from enso.server.serving import CannotListen, listen
from enso.settings import Settings

SIGNS = {"good": "ok  ", "notice": "note", "bad": "BAD "}


def run(store: Readings, settings: Settings) -> int:
    """Say every check; returns 1 if something would not work."""
    return _said([*_server_checks(settings), *_project_checks(settings), *store.checks()])


def say_invalid(fault: str) -> int:
    """Say a setting that cannot be: nothing else could be looked at."""
    return _said([Check(about="settings", state="bad", said=fault, what_to_do="Correct it.")])


def _said(checks: Iterable[Check]) -> int:
    bad = 0
    for check in checks:
        bad += check.state == "bad"
        say(f"{SIGNS[check.state]}  {check.about}: {check.said}")
        if check.what_to_do:
            say("".join(f"      {line}\n" for line in check.what_to_do.splitlines()).rstrip("\n"))
    say(f"\n{bad} would not work." if bad else "\nAll of it would work.")
    return 1 if bad else 0


def _server_checks(settings: Settings) -> Iterator[Check]:
    yield _parts()
    try:
        doors_of(settings)
    except ValueError as refused:
        yield Check(about="settings", state="bad", said=str(refused))
    else:
        yield Check(about="settings", state="good", said=f"runtime {settings.runtime}")
    yield _port(settings)


def _parts() -> Check:
    """Templates, styles and the fetched scripts."""
    try:
        template_dir()
        missing = [
            name
            for name in ("enso.css", "vendor/htmx.min.js", "vendor/hx-ws.min.js")
            if not (static_dir() / name).is_file()
        ]
    except FileNotFoundError as error:
        return Check(about="pages", state="bad", said=str(error), what_to_do="Install Enso again.")
    if missing:
        said = f"{', '.join(missing)} is missing: pages work as plain ones only"
        return Check(about="pages", state="bad", said=said, what_to_do="Install Enso again.")
    return Check(about="pages", state="good", said="templates, styles and scripts are there")


def _port(settings: Settings) -> Check:
    where = f"{settings.host}, port {settings.port}"
    try:
        listen(settings.host, settings.port).close()
    except CannotListen as refused:
        return Check(
            about="address",
            state="bad",
            said=str(refused),
            what_to_do="If Enso is what runs there, all is well.",
        )
    return Check(about="address", state="good", said=f"{where} is free")


def _project_checks(settings: Settings) -> Iterator[Check]:
    for project in settings.projects:
        directory = project.expanduser().absolute()
        if directory.is_dir():
            yield Check(about="project", state="good", said=str(directory))
            continue
        yield Check(
            about="project",
            state="bad",
            said=f"{directory} is no directory: threads of it can be read, not continued",
            what_to_do="Make it, or name another with --project or ENSO_PROJECTS.",
        )
