"""Lines of session files for tests: as the agent writes them, and as nobody should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

CWD = "/projects/shop"
BEGINNING_MS = 1_767_225_600_000


def header(thread_id: str = "t1", **fields: Any) -> dict[str, Any]:
    """A session header."""
    return {"type": "session", "version": 3, "id": thread_id, "cwd": CWD, **fields}


def message(
    entry_id: str, parent_id: str | None, role: str = "user", text: str = "Hi", **fields: Any
) -> dict[str, Any]:
    """A stored message."""
    content = [{"type": "text", "text": text}]
    stored = {"role": role, "content": content, "timestamp": BEGINNING_MS, **fields}
    return {"type": "message", "id": entry_id, "parentId": parent_id, "message": stored}


def write(path: Path, *lines: Any) -> Path:
    """Write these lines as a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text.replace("Infinity", "1e400"))
    return path


def at(milliseconds: int) -> float:
    """Seconds since the epoch."""
    return milliseconds / 1000


PI_HEADER = (
    b'{"type":"session","version":3,"id":"t1",'
    b'"timestamp":"2026-01-01T00:00:00Z","cwd":"/projects/shop"}\n'
)
PI_TEXT = b"What was said here, and is not looked at."


def pi_begun(kind: bytes, number: int, parent: int | None) -> bytes:
    """How pi begins every entry."""
    above = b'"%08x"' % parent if parent is not None else b"null"
    return b'{"type":"%s","id":"%08x","parentId":%s,"timestamp":"2026-01-01T00:00:01.000Z",' % (
        kind,
        number,
        above,
    )


def pi_message(number: int, parent: int | None, role: bytes, text: bytes = PI_TEXT) -> bytes:
    """A message as pi lays it out."""
    content = b'"content":[{"type":"text","text":"%s"}],"timestamp":%d}}\n' % (
        text,
        BEGINNING_MS + number,
    )
    return pi_begun(b"message", number, parent) + b'"message":{"role":"%s",' % role + content


def pi_thread(count: int = 20, thread_id: str = "t1") -> list[bytes]:
    """The lines of a thread in which each entry hangs on the one before."""
    begin = PI_HEADER.replace(b"t1", thread_id.encode(), 1)
    roles = b"user", b"assistant", b"toolResult", b"assistant"
    above = [None, *range(count)]
    return [begin, *(pi_message(n, above[n], roles[n % 4]) for n in range(count))]


NAMES = st.sampled_from(["a", "b", "c", "d"])
ROLES = st.sampled_from(["user", "assistant", "toolResult", "system", "narrator"])
STOPS = st.sampled_from(["stop", "error", "aborted", "length", "toolUse"])
CONTENTS = st.sampled_from(
    ["", "text", [{"type": "toolCall"}], [{"type": "text", "text": "block"}], None, 7]
)
ENTRIES = st.one_of(
    st.builds(
        lambda i, p, role, stop, content, time: message(
            i, p, role, stopReason=stop, content=content, timestamp=time
        ),
        NAMES,
        st.none() | NAMES,
        ROLES,
        STOPS,
        CONTENTS,
        st.integers(0, 99),
    ),
    st.builds(lambda i, p: {"type": "label", "id": i, "parentId": p}, NAMES, st.none() | NAMES),
    st.builds(lambda n: {"type": "session_info", "id": "n", "name": n}, st.text() | st.none()),
    st.just({"type": "label"}),
    st.just({"type": "message", "message": {"role": "user", "content": "x"}}),
    st.just(header("other")),
    st.just([1]),
)
LINES = st.one_of(
    st.builds(lambda entry: json.dumps(entry).encode() + b"\n", ENTRIES),
    st.builds(lambda entry: json.dumps(entry).encode(), ENTRIES),  # fused with the next
    st.sampled_from(
        [b"\n", b"{torn", b"\x00\x00\n", b'{"type":"message","id":"\\ud83d"}\n', b"\r\n"]
    ),
    st.binary(max_size=20),
)
VERSIONS = st.sampled_from([None, 2, 3, 4])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "cut", "rewrite"]),
        st.lists(LINES, max_size=4),
    ),
    max_size=6,
)
