"""A thread's context and its stored entries, live or cold, in the shapes that are sent.

A live thread answers from memory, outside of its lock: a run goes on meanwhile. Raises ``Refused``
403 or 404 as every reading does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from enso import thread_ids, wire
from enso.host import contract
from enso.server.refusals import Refused
from enso.server.services import Services
from enso.server.shapes import iso_time, mended

MOST_ENTRY_TEXT: Final = 64_000
"""Letters of a stored entry that are sent."""

_LONGEST_NUMBER: Final = 9


def read_context(services: Services, thread_id: str) -> wire.ThreadContext:
    """Every request of a thread's branch, in sizes."""
    cwd, branch = read_branch(services, thread_id)
    return wire.ThreadContext(
        thread_id=thread_id,
        project_id=project_id(services, cwd),
        requests=[request_shape(request) for request in branch.requests],
        next=size_shape(branch.next),
        compacted=branch.compacted,
    )


def read_branch(services: Services, thread_id: str) -> tuple[Path, contract.BranchContext]:
    """The same before it is shaped to be sent, and the thread's directory."""
    hosted = live_thread(services, thread_id)
    if hosted is not None:
        return hosted.inspect().cwd, hosted.branch_context()
    stored = services.host.read_stored_thread_context(thread_id)
    if stored is None:
        raise _missing(services, thread_id)
    return stored.cwd, stored.branch


def read_request(services: Services, thread_id: str, text: str) -> wire.RequestDetail:
    """One request, named by its number or as ``next``, element by element."""
    hosted = live_thread(services, thread_id)
    request = _request_number(text)
    if hosted is not None:
        detail = hosted.branch_request_detail(request)
    else:
        detail = services.host.read_stored_request_detail(thread_id, request)
    if detail is None:
        if hosted is None and services.host.stored_thread(thread_id) is None:
            raise _missing(services, thread_id)
        raise Refused(404, "request-not-found", "This thread's branch has no such request.")
    return wire.RequestDetail(
        thread_id=thread_id,
        request=detail.request,
        tokens=detail.tokens,
        elements=[_element(element) for element in detail.elements],
        left_out=[_element(element) for element in detail.left_out],
    )


def read_entry(services: Services, thread_id: str, entry_id: str) -> wire.StoredEntry:
    """One entry as it is stored, cut where it is long."""
    hosted = live_thread(services, thread_id)
    if hosted is not None:
        text = hosted.stored_entry(entry_id)
    else:
        text = services.host.read_stored_entry(thread_id, entry_id)
    if text is None:
        if hosted is None and services.host.stored_thread(thread_id) is None:
            raise _missing(services, thread_id)
        raise Refused(404, "entry-not-found", "This thread has no such entry.")
    return wire.StoredEntry(
        thread_id=thread_id,
        entry_id=mended(entry_id),
        text=mended(text[:MOST_ENTRY_TEXT]),
        characters=len(text),
    )


def live_thread(services: Services, thread_id: str) -> contract.HostedThread | None:
    """The thread, if it is live; raises ``Refused`` 404 for what is no id."""
    if not thread_ids.is_thread_id(thread_id):
        raise Refused(404, "malformed-id", thread_ids.refused_id_sentence(thread_id))
    with services.registry.at(thread_id) as slot:
        return slot.live.hosted if slot.live is not None else None


def project_id(services: Services, cwd: Path) -> str:
    """The id of the project that a directory is; the directory where it is none."""
    project = services.projects.of(cwd)
    return project.id if project is not None else mended(str(cwd))


def _missing(services: Services, thread_id: str) -> Refused:
    """Why a thread that is not live could not be read."""
    services.read(thread_id)  # says what is missing; it may have come in this very moment
    return Refused(404, "thread-not-found", "There is no stored thread under this id.")


def _request_number(text: str) -> contract.RequestNumber:
    if text == "next":
        return "next"
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number else 0


def _size(size: contract.ContextSize) -> dict[str, Any]:
    return {
        "elements": size.elements,
        "characters": size.characters,
        "tokens": size.tokens,
        "left_out": size.left_out,
        "shares": [
            wire.ContextShare(
                kind=share.kind,
                elements=share.elements,
                characters=share.characters,
                tokens=share.tokens,
            )
            for share in size.shares
        ],
    }


def size_shape(size: contract.ContextSize) -> wire.ContextSize:
    """A size as it is sent."""
    return wire.ContextSize(**_size(size))


def request_shape(request: contract.BranchRequest) -> wire.RequestContext:
    """One request as it is sent."""
    return wire.RequestContext(
        index=request.index,
        entry_id=mended(request.entry_id),
        created_at=iso_time(request.created_at),
        provider=mended(request.provider),
        model=mended(request.model),
        stop_reason=request.stop_reason,
        counted=request.counted,
        compacted=request.compacted,
        **_size(request.size),
    )


def _element(element: contract.ContextElement) -> wire.ContextElement:
    return wire.ContextElement(
        role=mended(element.role),
        entry_id=mended(element.entry_id),
        name=mended(element.name) or None,
        size=element.characters,
        tokens=element.tokens,
        text=mended(element.text),
        pieces=[
            wire.ContextPiece(
                kind=piece.kind, name=mended(piece.name) or None, size=piece.characters
            )
            for piece in element.pieces
        ],
        edited=element.edited,
    )
