"""JSON as people write it into ``models.json``: with ``//`` comments and trailing commas.

Source: pi 1.6.0 takes both (and a byte order mark) out before it parses. Here they become blanks,
so that an error's line and column are those of the file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

_STRING_OR_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*')
_STRING_OR_COMMA: Final = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])')


class NotReadable(Exception):
    """The file cannot be read: ``str()`` is a sentence that names the file and the place in it."""


def load_file(path: Path) -> dict[str, Any] | None:
    """The JSON object in ``path``; ``None`` when there is no such file. Raises ``NotReadable``."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotReadable(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise NotReadable(f"{path} is not UTF-8 text (byte {error.start}).") from error
    return _parse(path, text)


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(_blanked(text))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise NotReadable(f"{path}, {place}: {error.msg}.") from error
    except RecursionError as error:
        raise NotReadable(f"{path} is nested too deeply.") from error
    except ValueError as error:
        raise NotReadable(f"{path}: {error}.") from error
    if not isinstance(value, dict):
        raise NotReadable(f"{path} must hold a JSON object.")
    return value  # pyright: ignore[reportUnknownVariableType] - JSON objects have string keys


def _blanked(text: str) -> str:
    without_comments = _STRING_OR_COMMENT.sub(_blank_unless_string, text)
    return _STRING_OR_COMMA.sub(_blank_unless_string, without_comments)


def _blank_unless_string(match: re.Match[str]) -> str:
    found = match.group()
    return found if found.startswith('"') else " " * len(found)
