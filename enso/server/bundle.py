"""One zip for a bug report: what a thread holds, what this server did, and how it is set up.

Made while it is sent, from the same readings as everything else. Keys and tokens are taken out
unless the person keeps them (``enso.server.redaction``); how many were found and where stands in
its ``README.txt``, which comes last because only then it is known.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from enso.server import words
from enso.server.exports import Download, enso_version
from enso.server.inspection import inspected, inspection
from enso.server.redaction import Findings, Redactor, environment_secrets
from enso.server.services import Services

PACKAGES = ("flask", "gunicorn", "pydantic", "pydantic-ai-slim", "simple-websocket", "xllamacpp")
LOG_NAME = "thread.jsonl"
MOST_ENTRIES = 1000
"""Entries of the branch in the inspection, the last ones: all are in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFile:
    """One file of a bundle, in words."""

    name: str
    holds: str


FILES = (
    BundleFile(name=LOG_NAME, holds="the thread as it is stored, every branch"),
    BundleFile(
        name="inspection.json", holds="what this server holds of it: its last entries and events"
    ),
    BundleFile(name="log.txt", holds="the last lines of this server’s log"),
    BundleFile(
        name="configuration.json", holds="settings and models, without keys; what was checked"
    ),
    BundleFile(name="versions.json", holds="of Enso, of Python and of what they stand on"),
    BundleFile(name="README.txt", holds="this list, and what was found and taken out"),
)


class Bundle:
    """The bundle of one thread. Made for one answer: ``findings`` grows while it is read."""

    def __init__(self, services: Services, thread_id: str, *, keep: bool = False) -> None:
        """Raises ``Refused`` for a thread that is not there, or not served."""
        self._services = services
        self._thread_id = thread_id
        self._keep = keep
        self._reading = services.reader.require_page(thread_id)
        self._report = services.host.report()
        known = (*self._report.secrets, *environment_secrets(os.environ), *services.own_secrets)
        self._redactor = Redactor(known, keep=keep)

    @property
    def findings(self) -> Findings:
        """The secrets that were met so far."""
        return self._redactor.findings

    def download(self) -> Download:
        """The zip."""
        return Download(
            name=f"enso-bundle-{self._thread_id}.zip",
            media_type="application/zip",
            pieces=zipped(self.files()),
        )

    def files(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Each file's name and its bytes in pieces, to be read in this order."""
        yield LOG_NAME, self._log_lines()
        yield "inspection.json", self._json("inspection.json", self._inspection())
        yield "log.txt", self._text("log.txt", self._services.log.text())
        yield "configuration.json", self._json("configuration.json", self._configuration())
        yield "versions.json", self._json("versions.json", versions())
        yield "README.txt", self._readme()

    def look_through(self) -> Findings:
        """What would be found: every file is made and let go of."""
        for _, pieces in self.files():
            for _piece in pieces:
                pass
        return self.findings

    def _log_lines(self) -> Iterator[bytes]:
        log = self._services.host.open_stored_log(self._thread_id)
        if log is None:
            return
        with log.stream as stream:
            for number, line in enumerate(_lines(stream, log.size), 1):
                yield self._redactor.json_line(line, LOG_NAME, f"line {number}")

    def _inspection(self) -> Any:
        with self._services.registry.at(self._thread_id) as slot:
            if slot.live is not None:
                told = inspection(self._thread_id, slot.live).model_dump(mode="json")
                return {**told, "entries": told["entries"][-MOST_ENTRIES:]}
        reading = self._reading
        stored = self._services.host.read_stored_entries(self._thread_id, size=MOST_ENTRIES)
        entries = stored.entries if stored is not None else ()
        return {
            "threadId": self._thread_id,
            "projectId": reading.project_id,
            "live": False,
            "status": reading.status.model_dump(mode="json"),
            "interrupted": reading.interrupted,
            "permissionMode": reading.permission_mode.mode,
            "usage": reading.usage.model_dump(mode="json"),
            "skippedLines": reading.skipped_lines,
            "entries": [inspected(entry).model_dump(mode="json") for entry in entries],
        }

    def _configuration(self) -> Any:
        checks = [
            {"about": one.about, "state": one.state, "said": one.said}
            for one in self._report.checks
        ]
        return {
            "settings": dict(self._services.settings),
            "files": dict(self._report.configuration),
            "checks": checks,
        }

    def _json(self, name: str, value: Any) -> Iterator[bytes]:
        clean = self._redactor.value(value, name)
        yield json.dumps(clean, indent=1).encode() + b"\n"

    def _text(self, name: str, text: str) -> Iterator[bytes]:
        for number, line in enumerate(self._redactor.text(text, name).split("\n")):
            yield (f"\n{line}" if number else line).encode("utf-8", "replace")

    def _readme(self) -> Iterator[bytes]:
        lines = [
            f"Thread {self._thread_id}, from Enso {enso_version()}".rstrip(),
            "",
            *(f"{file.name}: {file.holds}" for file in FILES),
            "",
            *findings_words(self.findings, kept=self._keep),
            "",
            "What a person wrote and what tools printed is in here: read it before you hand it on.",
        ]
        yield "\n".join([*lines, ""]).encode()


def findings_words(findings: Findings, *, kept: bool = False) -> Sequence[str]:
    """What was found, kind by kind and file by file; one line when nothing was."""
    if not findings.total:
        return ("No keys or tokens were found.",)
    done = "kept" if kept else "replaced by words"
    kinds = ", ".join(f"{kind}: {count}" for kind, count in findings.kinds.most_common())
    places = [
        f"{file}: {', '.join(place for place in told if place) or 'in it'}"
        for file, told in findings.places.items()
    ]
    return (f"{words.count(findings.total, 'key or token')} {done} ({kinds}).", *places)


def versions() -> dict[str, str]:
    """Enso's, Python's and the packages' versions, and the system's name."""
    told = {"enso": enso_version(), "python": sys.version, "platform": platform.platform()}
    for package in PACKAGES:
        try:
            told[package] = version(package)
        except PackageNotFoundError:
            told[package] = ""
    return told


def _lines(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The lines in the first ``size`` bytes."""
    while size > 0 and (line := stream.readline(size)):
        size -= len(line)
        yield line


# -- the zip --------------------------------------------------------------------------------------


class _Sink:
    """Takes what a zip file writes until it is sent."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Keep a piece."""
        self._held.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is behind it."""

    def taken(self) -> Iterator[bytes]:
        """What was kept, once."""
        held, self._held = self._held, []
        yield from held


def zipped(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """The files as one zip, in pieces, without a file on disk."""
    sink = _Sink()
    now = time.localtime()[:6]
    # A zip that is written needs no more than write and flush of what it is written to.
    with ZipFile(cast("BinaryIO", sink), "w", ZIP_DEFLATED) as archive:
        for name, pieces in files:
            info = ZipInfo(name, date_time=now)
            info.compress_type = ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as entry:
                for piece in pieces:
                    entry.write(piece)
                    yield from sink.taken()
    yield from sink.taken()
