"""One stored entry as text that a person reads: its JSON, indented. Nothing above parses it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from enso.host.json_lines import plain


def entry_text(entries: Sequence[Mapping[str, Any]], entry_id: str) -> str | None:
    """The entry of this id, the last one where several have it; ``None`` without one.

    What no encoder takes is replaced, and what nests too deep is left out (``json_lines.plain``).
    """
    found = next((entry for entry in reversed(entries) if entry["id"] == entry_id), None)
    return None if found is None else json.dumps(plain(found), ensure_ascii=False, indent=2)
