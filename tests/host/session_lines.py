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
