"""Starting pi for a thread: with which options, until it is ready, and on which model it is then.

A thread's model is never changed in silence: pi takes another one when a model is gone or has no
key, and that is found here before anything goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from enso.host.contract import HostError, ModelInUse, PromptRefused
from enso.host.runtimes.keeper import Keeper
from enso.host.runtimes.pi.process import (
    PiFailed,
    PiGone,
    PiProcess,
    PiSilent,
    Record,
    environment_for,
)
from enso.host.runtimes.pi.program import PiProgram
from enso.host.session_file import SessionFile
from enso.host.stored_values import Stored, count_of, object_of, text_of

START_SECONDS: Final = 120.0
"""How long pi may take until it answers: extensions and MCP servers start with it."""

REFUSAL_SECONDS: Final = 4.0
"""How long a prompt waits to be refused, unless it is said otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PiOptions:
    """What every pi of this server is started with.

    Who prompts waits ``refusal_seconds`` for a refusal, at most; a later one is told in the pane.
    """

    agent_dir: Path
    keeper: Keeper
    default_model: str | None = None
    extensions: tuple[Path, ...] = ()
    refusal_seconds: float = REFUSAL_SECONDS


def arguments(program: PiProgram, session: SessionFile, options: PiOptions) -> list[str]:
    """The command line of a thread's pi. Stores a thread first that pi cannot create by itself.

    Raises ``SessionNotWritten``.
    """
    argv = [*program.command, "--mode", "rpc", "--session-dir", str(session.directory)]
    fresh = not session.exists()
    if fresh and (session.entries() or not program.protocol.takes_session_id):
        session.begin()
    argv += (
        ["--session", str(session.path)]
        if session.exists()
        else ["--session-id", session.thread_id]
    )
    if fresh and options.default_model:
        argv += ["--model", options.default_model]
    for extension in options.extensions:
        argv += ["--extension", str(extension)]
    return argv


def start(
    program: PiProgram,
    session: SessionFile,
    options: PiOptions,
    *,
    hear: Callable[[Record], None],
    ended: Callable[[str], None],
) -> PiProcess:
    """Start pi for a thread; it is not ready yet. Raises ``PromptRefused``."""
    try:
        return PiProcess(
            arguments(program, session, options),
            cwd=session.cwd,
            environment=environment_for(options.agent_dir),
            hear=hear,
            ended=ended,
            keeper=options.keeper,
        )
    except PiGone as error:
        raise PromptRefused("pi-not-started", str(error)) from error
    except HostError as error:
        raise PromptRefused(error.code, str(error)) from error


def ready(process: PiProcess, session: SessionFile) -> Stored:
    """Wait until pi has opened the thread; its state then. Raises ``PromptRefused``."""
    try:
        state = object_of(process.ask("get_state", limit=START_SECONDS))
    except PiSilent as error:
        raise PromptRefused("pi-not-ready", _not_ready(process)) from error
    except PiFailed as error:
        raise PromptRefused("pi-not-started", f"pi did not start: {error}") from error
    if text_of(state.get("sessionId")) != session.thread_id:
        raise PromptRefused("pi-other-thread", "pi opened another thread than this one.")
    if path := text_of(state.get("sessionFile")):
        session.lies_at(Path(path))
    return state


def _not_ready(process: PiProcess) -> str:
    last = f" It last said: {process.said[-1]}" if process.said else ""
    return f"pi was not ready within {START_SECONDS:g} seconds.{last}"


def model_in_use(model: Any) -> ModelInUse | None:
    """The model of a state or of an answer of pi's."""
    stored = object_of(model)
    if not text_of(stored.get("id")):
        return None
    return ModelInUse(
        provider=text_of(stored.get("provider")),
        model=text_of(stored.get("id")),
        label=text_of(stored.get("name")) or text_of(stored.get("id")),
        context_window=count_of(stored.get("contextWindow")),
    )


def require_model(
    named: tuple[str, str] | None,
    found: ModelInUse | None,
    choices: Sequence[tuple[str, str]],
    said: Sequence[str],
) -> None:
    """Raises ``PromptRefused`` when pi would send the thread's prompt to another model."""
    if named is None or (found is not None and (found.provider, found.model) == named):
        return
    wanted = "/".join(named)
    if found is None:
        raise PromptRefused("no-model", f"pi has no model to use; this thread uses {wanted}.")
    why = "is not configured in pi, or has no key"
    if named in choices:
        why = "is configured, but was not taken"
    warned = next((f" pi says: {line}" for line in said if wanted in line), "")
    raise PromptRefused(
        "other-model",
        f"This thread uses {wanted}, which {why}: pi would take {found.provider}/{found.model} "
        f"instead.{warned} Nothing was sent. Choose the model to go on with.",
    )
