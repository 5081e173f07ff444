"""``enso threads``, ``thread``, ``export`` and ``projects``: the server's readings, printed."""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeAlias

from enso import wire
from enso.cli.terminal import complain, say
from enso.server.ages import age_words
from enso.server.exports import Download
from enso.server.formats import FORMATS
from enso.server.presenter import one_line
from enso.server.readings import Check, Readings

Given: TypeAlias = Namespace
LONGEST_TITLE = 80


def threads(store: Readings, given: Given) -> int:
    """List the stored threads, newest first."""
    found = store.threads(" ".join(given.query))
    if "json" in given:
        sys.stdout.write(f"{found.model_dump_json()}\n")
        return 0
    if not found.threads and (faults := [one for one in store.checks() if _hides_threads(one)]):
        return complain(" ".join(f"{one.said}. {one.what_to_do}" for one in faults))
    if not found.threads:
        say("No thread. Name other directories with --project or ENSO_PROJECTS.")
        return 0
    for line in _columns([_row(store, thread) for thread in found.threads]):
        say(line)
    return 0


def _hides_threads(check: Check) -> bool:
    return check.state == "bad" and check.about in {"agent directory", "sessions"}


def _row(store: Readings, thread: wire.StoredThread) -> list[str]:
    now = datetime.now(UTC).astimezone()
    age = age_words(datetime.fromisoformat(thread.last_activity_at), now=now)
    title = one_line(thread.name or thread.title or "", LONGEST_TITLE)
    name = store.project_name(thread.project_id)
    return [thread.thread_id, age, f"{thread.message_count:,}", name, title or "Untitled"]


def _columns(rows: list[list[str]]) -> list[str]:
    """Rows as lines, in columns as wide as their widest; the last one as it comes."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]


def thread(store: Readings, given: Given) -> int:
    """Print one thread."""
    if "json" in given:
        sys.stdout.write(f"{store.history(given.id).model_dump_json()}\n")
    else:
        say(store.document(given.id))
    return 0


def export(store: Readings, given: Given) -> int:
    """Write one thread as a file, or to standard output."""
    target: Path | None = vars(given).get("output")
    named = target.suffix.removeprefix(".").lower() if target is not None else ""
    chosen = vars(given).get("format") or (named if named in FORMATS else "html")
    download = store.export(given.id, chosen)
    try:
        if target is None or str(target) == "-":
            _write(download, sys.stdout.buffer)
        else:
            _write_file(download, target)
    except BrokenPipeError:
        raise
    except OSError as error:
        return complain(f"{target} cannot be written: {error.strerror or error}.")
    finally:
        download.close()
    return 0


def _write(download: Download, stream: BinaryIO) -> None:
    stream.writelines(download.pieces)
    stream.flush()


def _write_file(download: Download, target: Path) -> None:
    """Written aside and moved, so that nobody meets half of it."""
    descriptor, aside = tempfile.mkstemp(dir=target.parent, prefix=".enso-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            _write(download, stream)
        Path(aside).chmod(0o600)
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def projects(store: Readings, _given: Given) -> int:
    """List the directories that are served."""
    rows = [
        [name, f"{count:,} threads", directory if there else f"{directory} (is gone)"]
        for name, directory, there, count in store.projects()
    ]
    for line in _columns(rows):
        say(line)
    return 0


COMMANDS: Mapping[str, Callable[[Readings, Given], int]] = {
    "threads": threads,
    "thread": thread,
    "export": export,
    "projects": projects,
}
