"""One thread that Enso's own runtime and a real pi take turns in.

A turn is the same for both. Before it is taken, the other one takes it on a copy of the file, so
that what the two send for one file can be compared.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enso.host.contract import PromptImage
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.session_file import SessionFile
from tests.interop.real_pi import HERE, RealPi
from tests.interop.rpc_client import PiRpc, environment
from tests.interop.threads import lines
from tests.model_server import ModelServer, Reply, Request
from tests.runtimes.live_thread import LiveThread

PLAIN = Reply(text=("Well.",))


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What a person does: prompts, with images; before it, they may go back, or sum up.

    ``back_to`` is the text of an answer to continue from, ``summary`` the answer to the one or two
    requests for a summary, ``name`` a name for the thread. ``replies`` are what the model says to
    the prompt.
    """

    prompt: str
    replies: Sequence[Reply] = (PLAIN,)
    images: Sequence[str] = ()
    back_to: str = ""
    summary: str = ""
    name: str = ""


Taker = Callable[[Turn, Path, Path], list[Request]]
"""Takes a turn in the file of an agent directory; the requests that the prompt caused."""


def enso(server: ModelServer) -> Taker:
    """Enso's own runtime, as a server that was started for this turn alone."""

    def take(turn: Turn, path: Path, agent_dir: Path) -> list[Request]:
        runtimes = BuiltinRuntimes(agent_dir, None)
        try:
            thread = LiveThread(runtimes, SessionFile.open(path))
            if turn.back_to:
                thread.runtime.go_to(answer_id(path, turn.back_to))
            if turn.name:
                thread.runtime.rename(turn.name)
            if turn.summary:
                server.script([Reply(text=(turn.summary,))] * 2)
                thread.runtime.compact()
                thread.wait_settled()
            asked = len(server.requests())
            server.script(turn.replies)
            thread.run(turn.prompt, [PromptImage("image/png", image) for image in turn.images])
            thread.runtime.close()
            return server.requests()[asked:]
        finally:
            runtimes.close()

    return take


def real(pi: RealPi, server: ModelServer) -> Taker:
    """A pi, started for this turn alone, in the directory that the thread records."""

    def take(turn: Turn, path: Path, agent_dir: Path) -> list[Request]:
        arguments = ["--session", str(path), "--extension", str(HERE / "go-to.ts")]
        cwd = Path(lines(path)[0]["cwd"])
        with PiRpc.start(pi, cwd=cwd, agent_dir=agent_dir, arguments=arguments) as rpc:
            if turn.back_to:
                rpc.ask("prompt", message=f"/go-to {answer_id(path, turn.back_to)}")
            if turn.name:
                rpc.ask("set_session_name", name=turn.name)
            if turn.summary:
                server.script([Reply(text=(turn.summary,))] * 2)
                rpc.ask("compact")
            asked = len(server.requests())
            server.script(turn.replies)
            rpc.run(
                turn.prompt,
                [{"type": "image", "mimeType": "image/png", "data": data} for data in turn.images],
            )
            return server.requests()[asked:]

    return take


def on_a_copy(take: Taker, turn: Turn, path: Path, agent_dir: Path) -> list[Request]:
    """What a taker would send for this turn: the model answers plainly, the file stays as it is."""
    twin = agent_dir.with_name("twin")
    shutil.rmtree(twin, ignore_errors=True)
    shutil.copytree(agent_dir, twin)
    plainly = Turn(**{**vars(turn), "replies": (PLAIN,)})
    return take(plainly, twin / path.relative_to(agent_dir), twin)


def answer_id(path: Path, text: str) -> str:
    """The id of the last answer with this text."""
    return next(
        str(line["id"])
        for line in reversed(lines(path))
        if line["type"] == "message"
        and line["message"]["role"] == "assistant"
        and any(block.get("text") == text for block in line["message"]["content"])
    )


class Lister:
    """A pi's own listing of an agent directory, asked as often as one likes."""

    def __init__(self, pi: RealPi, agent_dir: Path) -> None:
        self._process = subprocess.Popen(
            [pi.command[0], str(HERE / "list_sessions.mjs"), str(pi.package)],
            env=environment(agent_dir),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def rows(self) -> list[dict[str, Any]]:
        """What it lists: ``id``, ``cwd``, ``name``, ``firstMessage``, ``messageCount``, …."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        rows: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return rows

    def close(self) -> None:
        """End it."""
        self._process.communicate()
