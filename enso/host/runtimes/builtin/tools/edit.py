"""The tool ``edit``: texts that are in a file once are replaced, and the diff is stored."""

from __future__ import annotations

import codecs
import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from enso.host.json_lines import clean_text
from enso.host.runtimes.builtin.tools.edit_diff import edit_details
from enso.host.runtimes.builtin.tools.edit_matching import Edit, apply_edits
from enso.host.runtimes.builtin.tools.file_replacement import replace_file
from enso.host.runtimes.builtin.tools.file_turns import FileTurn
from enso.host.runtimes.builtin.tools.tool import (
    BuiltinTool,
    ToolContext,
    ToolFailed,
    ToolOutcome,
    success,
    system_code,
)
from enso.host.runtimes.builtin.tools.workers import Cancellation, in_worker
from enso.host.runtimes.paths import resolve_path
from enso.host.runtimes.sizes import size_text

MAX_EDITED_BYTES: Final = 100 * 1024 * 1024
"""A larger file is not edited: it would be in memory several times over."""


_PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["path", "edits"],
    "properties": {
        "path": {"type": "string", "description": "The file, relative or absolute"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["oldText", "newText"],
                "properties": {
                    "oldText": {
                        "type": "string",
                        "description": "Text to replace, exactly as it is in the file",
                    },
                    "newText": {"type": "string", "description": "Text to put there"},
                },
            },
            "description": "The replacements; changes close to each other are one",
        },
    },
}


class EditTool(BuiltinTool):
    """Replaces exact texts in one file."""

    name: str = "edit"
    description: str = (
        "Replace exact texts in one file. Each oldText must be in the file exactly once, and the "
        "edits of a call must not overlap: all are looked for in the file as it was before."
    )
    parameters: Mapping[str, Any] = _PARAMETERS

    def repaired(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take one edit for a list of one, a list as JSON text, and the texts without a list."""
        fixed = dict(arguments)
        edits: object = fixed.get("edits")
        if isinstance(edits, str):
            edits = _parsed(edits)
        if isinstance(edits, dict):
            edits = cast("object", [edits])
        if "edits" in fixed:
            fixed["edits"] = edits
        if isinstance(fixed.get("oldText"), str) and isinstance(fixed.get("newText"), str):
            single = {"oldText": fixed.pop("oldText"), "newText": fixed.pop("newText")}
            listed = cast("list[object]", edits) if isinstance(edits, list) else []
            fixed["edits"] = [*listed, single]
        return fixed

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Edit the file. Raises ``ToolFailed``."""
        name, edits = given["path"], _edits(given["edits"])
        if not edits:
            raise ToolFailed(
                "Edit tool input is invalid. edits must contain at least one replacement."
            )
        path = resolve_path(name, context.cwd)

        def work(cancellation: Cancellation) -> dict[str, Any]:
            turn.wait()
            cancellation.check()
            return _edit(name, path, edits, cancellation)

        with FileTurn(path) as turn:
            details = await in_worker(work)
        return success(f"Successfully replaced {len(edits)} block(s) in {name}.", details)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _edits(given: Sequence[Mapping[str, str]]) -> list[Edit]:
    return [Edit(clean_text(edit["oldText"]), clean_text(edit["newText"])) for edit in given]


def _edit(
    name: str, path: Path, edits: Sequence[Edit], cancellation: Cancellation
) -> dict[str, Any]:
    content = _read(name, path)
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    # bytes that are no UTF-8 come back as they were
    text = content[len(mark) :].decode("utf-8", "surrogateescape")
    edited = apply_edits(text, edits, name)
    details = edit_details(name, edited)
    cancellation.check()
    replace_file(path, mark + edited.final.encode("utf-8", "surrogateescape"), cancellation)
    return details


def _read(name: str, path: Path) -> bytes:
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise ToolFailed("EISDIR: illegal operation on a directory, read")
        if not stat.S_ISREG(found.st_mode):
            raise ToolFailed(f"{name} is no regular file and cannot be edited.")
        if found.st_size > MAX_EDITED_BYTES:
            raise ToolFailed(
                f"{name} is {size_text(found.st_size)}, and edit takes files of up to "
                f"{size_text(MAX_EDITED_BYTES)}. Use bash to change it, for example with sed."
            )
        if not os.access(path, os.R_OK | os.W_OK):
            raise ToolFailed(f"Could not edit file: {name}. Error code: EACCES.")
        return path.read_bytes()
    except OSError as error:
        code = system_code(error)
        raise ToolFailed(f"Could not edit file: {name}. Error code: {code}.") from error
