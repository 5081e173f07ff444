"""A thread to take away: as an HTML file, as Markdown, or as the log itself.

HTML and Markdown are two writings of one reading (``enso.server.reading``), live or cold; the log
is the host's, byte for byte. Nothing is built, nothing is written, and no text stands in memory:
every form is made in pieces while it is sent, and of a stored thread each message is read when its
turn comes (``enso.server.message_stream``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import BinaryIO, Literal

from enso import wire
from enso.host import contract
from enso.server import words
from enso.server.ages import moment_words
from enso.server.formats import FORMATS, MEDIA_TYPES
from enso.server.looks import dom_token
from enso.server.markdown_document import markdown_document
from enso.server.message_stream import Outline, message_stream, outline_of, outlined
from enso.server.reading import Reader, ThreadReading
from enso.server.refusals import Refused
from enso.server.render import Renderer
from enso.server.shapes import mended
from enso.server.views import ExportView

BLOCK_BYTES = 256 * 1024
_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file on its way: its name, its kind, its bytes in pieces, and its size where it is known.

    ``close`` lets go of what the pieces come from; it is called however the way ends.
    """

    name: str
    media_type: str
    pieces: Iterable[bytes]
    size: int | None = None
    close: Callable[[], None] = field(default=lambda: None)


def enso_version() -> str:
    """The version of Enso that is installed; empty in a checkout that is not."""
    try:
        return version("enso")
    except PackageNotFoundError:
        return ""


def export_thread(
    reader: Reader, host: contract.AgentHost, renderer: Renderer, thread_id: str, format_name: str
) -> Download:
    """A thread in a format; raises ``Refused`` for another one, or a thread that is not there."""
    if format_name not in FORMATS:
        raise Refused(400, "export-format", f"A thread is exported as {', '.join(FORMATS)}.")
    if format_name != "jsonl":
        return document_download(read_document(reader, host, thread_id), format_name, renderer)
    log = host.open_stored_log(thread_id)
    if log is None:
        reader.require(thread_id)  # which says why, where it knows
        raise Refused(404, "not-stored", "Nothing of this thread is stored yet.")
    return log_download(log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a document is written of: a reading, its messages one by one, and what they come to.

    ``close`` lets go of what the messages are read from.
    """

    reading: ThreadReading
    outline: Outline
    messages: Iterable[wire.Message]
    close: Callable[[], None] = field(default=lambda: None)


def read_document(reader: Reader, host: contract.AgentHost, thread_id: str) -> Document:
    """The document of a thread that must be there; raises ``Refused``."""
    reading = reader.require_page(thread_id)
    branch = None if reading.status.live else host.open_stored_branch(thread_id)
    if branch is None:
        reading = reader.require(thread_id)
        outline = outline_of(reading.messages)
        return Document(reading=reading, outline=outline, messages=reading.messages)
    try:
        outline = outlined(branch.walk())
    except BaseException:
        branch.close()
        raise
    return Document(
        reading=reading,
        outline=outline,
        messages=message_stream(branch.walk(), outline, reading.labels),
        close=branch.close,
    )


def document_download(
    document: Document, format_name: Literal["html", "md"], renderer: Renderer
) -> Download:
    """A document as HTML or Markdown."""
    view, reading = export_view(document), document.reading
    texts = renderer.export(view) if format_name == "html" else markdown_document(view)
    return Download(
        name=f"{plain_name(reading.title) or reading.thread_id}.{format_name}",
        media_type=MEDIA_TYPES[format_name],
        pieces=encoded(texts, document.close),
        close=document.close,
    )


def encoded(texts: Iterable[str], close: Callable[[], None]) -> Iterator[bytes]:
    """Texts as bytes; ``close`` is called behind the last, or when who takes them goes away."""
    try:
        for text in texts:
            yield mended(text).encode()
    finally:
        close()


def log_download(log: contract.StoredLog) -> Download:
    """A stored log as it is."""
    return Download(
        name=re.sub(r"[^A-Za-z0-9._-]", "_", log.name)[-200:],
        media_type=MEDIA_TYPES["jsonl"],
        pieces=log_blocks(log.stream, log.size),
        size=log.size,
        close=log.stream.close,
    )


def log_blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The first ``size`` bytes of a stream, which is closed behind them; fewer when it was cut."""
    with stream:
        while size > 0 and (block := stream.read(min(size, BLOCK_BYTES))):
            size -= len(block)
            yield block


def plain_name(title: str) -> str:
    """A title as a piece of a file's name: ``Fix the tax`` → ``fix-the-tax``. Empty for none."""
    told = re.findall(r"[a-z0-9]+", title[:1000].lower())
    return "-".join(told)[:_NAME_CHARACTERS].strip("-")


def export_view(document: Document) -> ExportView:
    """What a document of a thread says."""
    release, reading = enso_version(), document.reading
    title = " ".join(reading.title[:4000].split())
    return ExportView(
        thread_id=reading.thread_id,
        key=dom_token(reading.thread_id),
        title=mended(title[:240]) or "Untitled",
        facts=tuple(_facts(reading, document.outline)),
        notes=tuple(_notes(reading)),
        messages=document.messages,
        interrupted=reading.interrupted,
        generator=f"Enso {release}".strip(),
    )


def _facts(reading: ThreadReading, outline: Outline) -> Iterator[tuple[str, str]]:
    if reading.project_id:
        yield "Project", mended(reading.project_id)
    yield "Thread", reading.thread_id
    yield "Messages", f"{outline.messages:,}"
    if outline.models:
        yield "Models" if len(outline.models) > 1 else "Model", ", ".join(outline.models)
    if outline.began:
        yield "Began", words.moment(outline.began)
    if words.spend(reading.usage):
        yield "Spent", words.spend(reading.usage)
    yield "Exported", moment_words(datetime.now(UTC))


def _notes(reading: ThreadReading) -> Iterator[str]:
    if reading.status.busy:
        yield "The agent was at work when this was exported; what came later is missing."
    if reading.skipped_lines:
        lines = words.count(reading.skipped_lines, "line")
        yield f"{lines} of this thread’s file could not be read and are left out."
