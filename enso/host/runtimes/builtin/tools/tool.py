"""What a tool is to the runtime: a name, a schema, and a run that always ends in an outcome.

Owns the shapes of an outcome and the rule that nothing a model can cause is an exception. Knows no
model, no session and no permission: whether a call may run is decided before it comes here.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from enso.host.json_lines import clean_text
from enso.host.runtimes.builtin.tools.arguments import WrongArguments, check_arguments
from enso.host.runtimes.paths import NoPath

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one call, as it is stored.

    ``content`` are text blocks (``{"type": "text", "text"}``) and image blocks (``{"type":
    "image", "data", "mimeType"}``, data in base64). ``details`` are what a program reads of it;
    ``None`` when the stored result has none. All text can be encoded. Source: pi 1.6.0.
    """

    content: list[dict[str, Any]]
    is_error: bool = False
    details: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where a call runs, and whom it tells.

    ``progress`` is given the output so far (its tail, when it is long). It may be called often,
    from any worker, and must return soon.
    """

    cwd: Path
    agent_dir: Path
    progress: Callable[[str], None]


class Tool(Protocol):
    """A tool that a model can call; ``parameters`` is the JSON schema of its arguments."""

    @property
    def name(self) -> str:
        """What a model calls it."""
        ...

    @property
    def description(self) -> str:
        """What a model is told of it."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        ...

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Run one call. Raises nothing but ``CancelledError``, after it has cleaned up."""
        ...


class ToolFailed(Exception):
    """The call failed, for a reason that a model is told: ``str()`` is the sentence."""


class BuiltinTool:
    """The frame of every tool here: arguments are checked, and every failure is an outcome."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Check the arguments and perform the call; a failure is an outcome, not an exception."""
        try:
            given = check_arguments(self.name, self.parameters, self.repaired(arguments))
            return await self.perform(given, context)
        except (ToolFailed, WrongArguments, NoPath) as failed:
            return failure(str(failed))
        except OSError as error:
            return failure(str(system_failure(error)))
        except Exception as error:
            _logger.exception("A tool failed", extra={"tool": self.name})
            return failure(f"{self.name} failed: {type(error).__name__}: {error}")

    def repaired(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments, with what models often get wrong about this tool put right."""
        return arguments

    async def perform(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Perform the call with checked arguments. Raises ``ToolFailed`` and ``OSError``."""
        raise NotImplementedError


def success(text: str, details: dict[str, Any] | None = None) -> ToolOutcome:
    """An outcome of one text."""
    return ToolOutcome([text_block(text)], details=details)


def failure(text: str) -> ToolOutcome:
    """A call that failed. Its details are empty, not absent, as pi 1.6.0 stores it."""
    return ToolOutcome([text_block(text)], is_error=True, details={})


def aborted(tool_name: str, last_progress: str = "") -> ToolOutcome:
    """What is stored of a call that was cancelled, after the last progress it told."""
    if tool_name != "bash":
        return failure("Operation aborted")
    return failure(f"{last_progress}\n\nCommand aborted" if last_progress else "Command aborted")


def text_block(text: str) -> dict[str, Any]:
    """A text block of an outcome."""
    return {"type": "text", "text": clean_text(text)}


_REASONS: Final[Mapping[int, str]] = {
    errno.EACCES: "permission denied",
    errno.EBUSY: "resource busy or locked",
    errno.EEXIST: "file already exists",
    errno.EIO: "i/o error",
    errno.EISDIR: "illegal operation on a directory",
    errno.ELOOP: "too many symbolic links encountered",
    errno.EMFILE: "too many open files",
    errno.ENAMETOOLONG: "name too long",
    errno.ENOENT: "no such file or directory",
    errno.ENOSPC: "no space left on device",
    errno.ENOTDIR: "not a directory",
    errno.EPERM: "operation not permitted",
    errno.EROFS: "read-only file system",
}
"""Errors of the system in the words of libuv, which stored results have."""


def system_failure(error: OSError, call: str = "", path: str | Path = "") -> ToolFailed:
    """An error of the system as pi 1.6.0 words it: ``ENOENT: no such file …, access '/x'``."""
    number = error.errno or 0
    reason = _REASONS.get(number) or os.strerror(number).lower()
    words = f"{system_code(error)}: {reason}"
    if call:
        words += f", {call}"
    where = path or error.filename
    return ToolFailed(f"{words} '{where}'" if where else words)


def system_code(error: OSError) -> str:
    """The name of a system error: ``ENOENT``."""
    return errno.errorcode.get(error.errno or 0, "EUNKNOWN")
