"""Slash commands of Enso's own, typed as a prompt: each does what a button does, and no more.

Templates and skills are not here: they are expanded by the runtime, where they stand in a prompt.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from enso import thread_ids, wire
from enso.server.formats import FORMATS
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.words import FILE_KINDS
from enso.urls import Urls


class SlashDone(Struct, frozen=True, kw_only=True):
    """What a command came to: a sentence to say, and the new thread that it made, if it did.

    ``links`` are files that it offers, the likeliest first. ``shows`` is the part of the thread's
    address where a person is taken.
    """

    said: str = ""
    links: tuple[wire.Link, ...] = ()
    new_thread_id: str | None = None
    generation: int = 0
    shows: str = ""

    @property
    def leads_away(self) -> bool:
        """Whether it ends on another page than the thread's."""
        return bool(self.new_thread_id or self.shows)


class _Given(Struct, frozen=True):
    """A command on its way: whose, where, and with what behind its name."""

    services: Services
    thread_id: str
    rest: str
    project_id: str | None


def run_slash(
    services: Services, thread_id: str, message: str, project_id: str | None
) -> SlashDone | None:
    """Do what a message asks for, if it is one of Enso's commands; ``None`` for any other message.

    Raises ``Refused`` with what is wrong. The sentence is also told to every follow.
    """
    name, _, rest = message.strip().partition(" ")
    command = _COMMANDS.get(name.removeprefix("/")) if name.startswith("/") else None
    if command is None:
        return None
    done = command(_Given(services, thread_id, rest.strip(), project_id))
    if done.said:
        services.registry.tell(thread_id, done.said, done.links)
    return done


def _compact(given: _Given) -> SlashDone:
    return SlashDone(generation=given.services.registry.compact(given.thread_id, given.rest))


def _export(given: _Given) -> SlashDone:
    chosen = given.rest.lower()
    if chosen and chosen not in FORMATS:
        raise Refused(400, "export-format", f"Say /export and one of these: {', '.join(FORMATS)}.")
    given.services.read(given.thread_id)
    links = [
        wire.Link(label=FILE_KINDS[name], href=Urls.export(given.thread_id, name))
        for name in FORMATS
        if name == chosen or not chosen
    ]
    return SlashDone(said="Take this thread away as", links=tuple(links))


def _fork(given: _Given) -> SlashDone:
    forked = given.services.host.fork(given.thread_id, None, thread_ids.new_thread_id())
    return SlashDone(new_thread_id=forked)


def _help(given: _Given) -> SlashDone:
    lines = [
        f"/{command.name} {command.argument_hint}".strip() + f": {command.description}"
        for command in given.services.commands(given.thread_id)
    ]
    return SlashDone(said="\n".join(lines))


def _mode(given: _Given) -> SlashDone:
    modes = given.services.host.fresh_permission_mode().modes
    if not given.rest:
        choices = " ".join(f"{mode.id}: {mode.description}" for mode in modes)
        return SlashDone(said=f"Say /mode and one of these. {choices}")
    given.services.registry.act(
        given.thread_id,
        lambda hosted: hosted.runtime.set_mode(given.rest),
        new_session_directory=given.services.new_session_directory(given.project_id),
    )
    return SlashDone()


def _model(given: _Given) -> SlashDone:
    if not given.rest:
        names = ", ".join(f"{one.provider}/{one.model}" for one in given.services.host.models())
        return SlashDone(said=f"Say /model and one of these: {names or 'none is configured'}.")
    name, _, level = given.rest.partition(" ")
    provider, slash, model = name.partition("/")
    if not slash or not model:
        raise Refused(400, "model-name", "Name a model as provider/model.")
    given.services.registry.act(
        given.thread_id,
        lambda hosted: hosted.runtime.set_model(provider, model, level.strip() or None),
        new_session_directory=given.services.new_session_directory(given.project_id),
    )
    return SlashDone()


def _name(given: _Given) -> SlashDone:
    if not given.rest:
        return SlashDone(said="Say /name and the new name behind it.")
    given.services.registry.act(
        given.thread_id,
        lambda hosted: hosted.runtime.rename(given.rest),
        new_session_directory=given.services.new_session_directory(given.project_id),
        anew=True,
    )
    return SlashDone()


def _tree(given: _Given) -> SlashDone:
    registry, host = given.services.registry, given.services.host
    if not registry.is_live(given.thread_id) and host.stored_thread(given.thread_id) is None:
        raise Refused(409, "no-tree", "Nothing was said in this thread yet: it has no branches.")
    return SlashDone(shows="tree")


_COMMANDS: dict[str, Callable[[_Given], SlashDone]] = {
    "compact": _compact,
    "export": _export,
    "fork": _fork,
    "help": _help,
    "mode": _mode,
    "model": _model,
    "name": _name,
    "tree": _tree,
}
COMMAND_NAMES = frozenset(_COMMANDS)
