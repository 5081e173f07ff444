"""Forks of threads that the real pi runs: by pi itself, so that its extensions know of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enso.host.contract import PromptRefused, RunSettled, SurfaceChanged
from enso.host.session_host import SessionHost
from enso.projects import Projects
from enso.transcript import TranscriptEntry, TranscriptMessage
from tests.contract.test_agent_host import Run, never, texts
from tests.interop.real_pi import RealPi
from tests.interop.threads import lines
from tests.interop.watched_runtimes import Watched
from tests.runtimes.agent_files import write_json

EXTENSION = """
import { appendFileSync } from "node:fs";
export default function (pi) {
  const note = (line) => appendFileSync(`${process.env.PI_CODING_AGENT_DIR}/noted`, line + "\\n");
  pi.on("session_before_fork", async (event, ctx) => {
    note(`${event.position} ${event.entryId}`);
    const answer = process.env.PI_CODING_AGENT_DIR + "/answer.json";
    const { cancel, ask } = (await import(answer, { with: { type: "json" } })).default;
    if (ask) return { cancel: !(await ctx.ui.confirm(ask, "")) };
    return { cancel };
  });
  pi.on("session_start", (event, ctx) => ctx.ui.setStatus("why", event.reason));
}
"""


class Forked:
    """A host whose threads a pi runs, and a thread of two prompts, live."""

    def __init__(self, pi: RealPi, agent_dir: Path, project: Path) -> None:
        self.agent_dir = agent_dir
        self.noted = agent_dir / "noted"
        (agent_dir / "extensions").mkdir()
        (agent_dir / "extensions" / "noting.ts").write_text(EXTENSION)
        self.decide()
        self.forks_itself = pi.version.startswith("1.")
        self.runtimes = Watched(agent_dir, "labserver/lab-coder", command=pi.command)
        self.host = SessionHost(
            agent_dir=agent_dir, projects=Projects([project]), runtimes=self.runtimes
        )
        self._live: list[Run] = []
        self.source = Run(self.host.create_session("t1", lambda: project))
        self._live.append(self.source)
        self.source.prompt("One")
        self.source.prompt("Two")

    def decide(self, **what: Any) -> None:
        """What the extension does when something is to be forked."""
        write_json(self.agent_dir / "answer.json", {"cancel": False, **what})

    def prompt_ids(self) -> list[str]:
        """The ids of the prompts of the thread that is forked from."""
        branch = self.source.thread.inspect().entries
        return [entry.id for entry in branch if is_prompt(entry)]

    def open(self, thread_id: str) -> Run:
        """Have a thread live."""
        run = Run(self.host.create_session(thread_id, never))
        self._live.append(run)
        return run

    def pid(self, thread_id: str = "t1") -> int:
        """The process of a live thread's pi."""
        pid = self.runtimes.built[thread_id].pid
        assert pid is not None
        return pid

    def prompts(self, thread_id: str) -> list[str]:
        """What was said to a stored thread."""
        read = self.host.read_stored_thread(thread_id)
        assert read is not None
        return texts([entry for entry in read.entries if is_prompt(entry)])

    def path(self, thread_id: str = "t1") -> Path:
        """The thread's file."""
        return next(self.agent_dir.rglob(f"*_{thread_id}.jsonl"))

    def close(self) -> None:
        """End everything."""
        for run in self._live:
            run.thread.close()
        self.host.close()


@pytest.fixture
def forked(pi: RealPi, pi_agent_dir: Path, project: Path) -> Iterator[Forked]:
    """Over each pi."""
    made = Forked(pi, pi_agent_dir, project)
    yield made
    made.close()


@pytest.fixture
def forked_by_pi(pi_1_6: RealPi, pi_agent_dir: Path, project: Path) -> Iterator[Forked]:
    """Over the pi that forks itself."""
    made = Forked(pi_1_6, pi_agent_dir, project)
    yield made
    made.close()


def is_prompt(entry: TranscriptEntry) -> bool:
    """Whether a person said this."""
    return isinstance(entry, TranscriptMessage) and entry.role == "user"


def test_a_fork_goes_on_by_itself_and_its_source_untouched(forked: Forked) -> None:
    """With the entries before the prompt under their ids, in the pi that made it, which 1.6 did.

    The thread it came from stays in its own process, whose next prompt continues it.
    """
    before, pid = forked.path().read_bytes(), forked.pid()
    second = forked.prompt_ids()[1]
    new_id = forked.host.fork("t1", second, "ours")
    assert forked.path().read_bytes() == before
    assert (new_id != "ours") is forked.forks_itself
    assert forked.noted.exists() is forked.forks_itself
    header, *taken = lines(forked.path(new_id))
    assert (header["id"], header["parentSession"]) == (new_id, str(forked.path()))
    theirs = [one["id"] for one in lines(forked.path()) if one["type"] != "session"]
    assert [one["id"] for one in taken] == theirs[: len(taken)]
    fork = forked.open(new_id)
    events = fork.prompt("Two, differently")
    why = [event.surface.statuses for event in events if isinstance(event, SurfaceChanged)]
    assert why[-1] == (("fork",) if forked.forks_itself else ("startup",))
    assert forked.prompts(new_id) == ["One", "Two, differently"]
    assert forked.path().read_bytes() == before
    assert forked.source.prompt("Three")[-1] == RunSettled("complete")
    assert forked.pid() == pid


def test_a_fork_before_the_first_prompt_is_stored_with_its_first_answer(forked: Forked) -> None:
    """Under the id that was told, and it says where it comes from if pi made it."""
    new_id = forked.host.fork("t1", forked.prompt_ids()[0], "ours")
    assert forked.host.stored_thread(new_id) is None
    forked.open(new_id).prompt("Otherwise")
    header = lines(forked.path(new_id))[0]
    assert header["id"] == new_id
    if forked.forks_itself:
        assert header["parentSession"] == str(forked.path())
    assert forked.host.stored_thread(new_id) is not None


def test_a_clone_is_of_the_place_that_the_thread_is_at(forked_by_pi: Forked) -> None:
    """Also when it is not the file's last entry, which is where another pi begins."""
    forked_by_pi.source.thread.runtime.go_to(forked_by_pi.prompt_ids()[1])
    new_id = forked_by_pi.host.fork("t1", None, "ours")
    assert forked_by_pi.prompts(new_id) == ["One"]


def test_a_prompt_of_a_branch_that_was_left_can_be_forked_from(forked_by_pi: Forked) -> None:
    """As any other."""
    second = forked_by_pi.prompt_ids()[1]
    forked_by_pi.source.thread.runtime.go_to(second)
    forked_by_pi.source.prompt("Otherwise")
    new_id = forked_by_pi.host.fork("t1", second, "ours")
    assert forked_by_pi.prompts(new_id) == ["One"]


def test_an_extension_can_refuse_a_fork(forked_by_pi: Forked) -> None:
    """It is said, also what it asked; nothing is stored, and the pi that tried is gone."""
    stored = sorted(forked_by_pi.agent_dir.rglob("*.jsonl"))
    forked_by_pi.decide(cancel=True)
    with pytest.raises(PromptRefused, match="did not let it be forked"):
        forked_by_pi.host.fork("t1", None, "ours")
    forked_by_pi.decide(ask="Really fork?")
    with pytest.raises(PromptRefused, match="Really fork") as refused:
        forked_by_pi.host.fork("t1", None, "ours")
    assert refused.value.code == "fork-refused"
    assert sorted(forked_by_pi.agent_dir.rglob("*.jsonl")) == stored
    first, second = (line.split()[0] for line in forked_by_pi.noted.read_text().splitlines())
    assert (first, second) == ("at", "at")


def test_the_pi_of_a_fork_that_nobody_prompts_ends_with_the_host(forked_by_pi: Forked) -> None:
    """Nothing is left."""
    new_id = forked_by_pi.host.fork("t1", None, "ours")
    fork = forked_by_pi.open(new_id)
    fork.thread.runtime.rename("A fork")
    taken_over = forked_by_pi.pid(new_id)
    assert json.loads(forked_by_pi.path(new_id).read_text().splitlines()[-1])["name"] == "A fork"
    forked_by_pi.host.fork("t1", None, "ours")
    children = children_of(os.getpid())
    forked_by_pi.close()
    assert taken_over in children
    assert not children & children_of(os.getpid())


def children_of(pid: int) -> set[int]:
    """The processes that a process started and that run, or were not waited for."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {int(child) for task in tasks for child in (task / "children").read_text().split()}
