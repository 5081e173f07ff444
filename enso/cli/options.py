"""What can be typed: the commands, their options, and the settings that they come to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from enso.server.formats import FORMATS
from enso.settings import Settings


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """What was typed; ``command`` is ``None`` for none. Ends the program with what is wrong."""
    listen, store = _listen_options(), _store_options()
    parser = argparse.ArgumentParser(
        prog="enso",
        description="A web host for coding-agent threads. Without a command it serves.",
        parents=[listen, store],
        argument_default=argparse.SUPPRESS,
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")

    def add(name: str, help_text: str, *parents: argparse.ArgumentParser) -> Any:
        return commands.add_parser(
            name,
            help=help_text,
            description=help_text,
            parents=[*parents, store],
            argument_default=argparse.SUPPRESS,
        )

    add("serve", "serve the threads as web pages", listen)
    threads = add("threads", "list the stored threads, newest first")
    threads.add_argument(
        "query", nargs="*", default=[], help="only threads with these words in their titles"
    )
    threads.add_argument("--json", action="store_true", help="as GET /api/stored-threads gives it")
    thread = add("thread", "print a thread, to be read")
    thread.add_argument("id", help="the thread's id")
    thread.add_argument("--json", action="store_true", help="as its history under /api gives it")
    export = add("export", "write a thread as a file")
    export.add_argument("id", help="the thread's id")
    export.add_argument("--format", choices=FORMATS, help="html, or what FILE ends in")
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="not to standard output")
    add("projects", "list the directories that are served")
    add("doctor", "say what is configured, and what would not work and why", listen)
    return parser.parse_args(argv)


def _listen_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    options.add_argument("--host", help="address to listen on (127.0.0.1)")
    options.add_argument("--port", type=int, help="port to listen on (7433); 0 takes a free one")
    return options


def _store_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    options.add_argument(
        "--project",
        action="append",
        type=Path,
        metavar="DIR",
        help="a directory to serve; may be given several times (the current directory)",
    )
    options.add_argument(
        "--agent-dir",
        type=Path,
        metavar="DIR",
        help="where sessions, models.json and auth.json are kept (~/.pi/agent)",
    )
    return options


def settings_of(given: argparse.Namespace) -> Settings:
    """Settings from options and environment; raises pydantic's ``ValidationError``."""
    typed = vars(given)
    options: dict[str, Any] = {
        name: typed[name] for name in ("host", "port", "agent_dir") if name in typed
    }
    if "project" in typed:
        options["projects"] = tuple(typed["project"])
    return Settings.told(**options)


def first_fault(invalid: ValidationError) -> str:
    """The first setting that is wrong, and what it was given."""
    fault = invalid.errors(include_url=False)[0]
    where = ".".join(str(step) for step in fault["loc"])
    return f"{where}: {fault['msg']} (given: {fault['input']!r})"
