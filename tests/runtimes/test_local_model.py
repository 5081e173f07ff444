"""The bundled model: with no key and no network, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from enso.host.contract import PartDelta, PartStarted, RunSettled
from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.transcript import TranscriptMessage, Usage
from tests.runtimes.live_thread import LiveThread, new_thread

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def runtimes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BuiltinRuntimes]:
    """The runtime over an empty agent directory, behind a proxy that leads nowhere."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    runtimes = BuiltinRuntimes(tmp_path / "agent", None)
    yield runtimes
    runtimes.close()


def is_running(pid: int) -> bool:
    """Whether a process lives: one that ended and was not waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return status != "Z"


def wait_until_gone(pid: int, seconds: float = 20) -> bool:
    """Wait for the end of a process that is no child of ours."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    try:
        return bool(select.select([watch], [], [], seconds)[0])
    finally:
        os.close(watch)


def test_it_answers_twice_token_by_token(runtimes: BuiltinRuntimes, tmp_path: Path) -> None:
    """Two prompts, one process; nothing costs anything, and that is known."""
    thread = new_thread(runtimes, tmp_path)
    assert thread.run("Please say hello to me in one short and friendly sentence.") == RunSettled(
        "complete"
    )
    first_process = runtimes.local_model.pid
    assert len(thread.told(PartDelta)) > 2
    assert thread.last_answer["provider"] == "local"
    assert thread.last_answer["model"] == "smollm2-135m"
    assert thread.last_answer["content"][0]["text"].strip()
    assert thread.last_answer["stopReason"] in ("stop", "length")
    usage = thread.cold_answer.usage
    assert isinstance(usage, Usage)
    assert usage.input > 20
    assert usage.output > 2
    assert (usage.cost, usage.cost_known) == (0.0, True)
    assert thread.run("And what is two and two?") == RunSettled("complete")
    assert runtimes.local_model.pid == first_process
    assert thread.kinds().count("message:assistant") == 2


def test_two_threads_are_answered_together(runtimes: BuiltinRuntimes, tmp_path: Path) -> None:
    """Two prompts at once share the process, also when both are the first."""
    threads = [new_thread(runtimes, tmp_path, name) for name in ("one", "two")]
    for thread in threads:
        thread.start("Write a long story about the sea.")
    for thread in threads:
        thread.wait_for(PartStarted)
    for thread in threads:
        thread.runtime.abort()
    assert [thread.wait_settled() for thread in threads] == [RunSettled("aborted")] * 2


def test_a_prompt_that_is_too_long_is_a_refusal_of_context_length(
    runtimes: BuiltinRuntimes, tmp_path: Path
) -> None:
    """The model's own window is kept, and the sentence says by how much it is passed."""
    thread = new_thread(runtimes, tmp_path)
    settled = thread.run("word " * 9000)
    assert settled.refusal is not None
    assert settled.refusal.refusal_class == "context length"
    assert "8192 tokens" in settled.refusal.reason
    assert settled.refusal.provider == "Local"
    assert thread.cold_answer.refusal == settled.refusal


def test_it_is_started_again_after_a_crash(runtimes: BuiltinRuntimes, tmp_path: Path) -> None:
    """A crash in the middle of an answer is a refused attempt, which is made again by itself."""
    thread = new_thread(runtimes, tmp_path)
    thread.start("Write a long story about the sea.")
    thread.wait_for(PartStarted)
    crashed = runtimes.local_model.pid
    assert crashed is not None
    os.kill(crashed, signal.SIGKILL)
    thread.wait_until(lambda: len(thread.told(PartStarted)) == 2)
    assert runtimes.local_model.pid != crashed
    thread.runtime.abort()
    assert thread.wait_settled() == RunSettled("aborted")
    answers = [m for m in thread.read_cold() if isinstance(m, TranscriptMessage)][1:]
    refusal = answers[0].refusal
    assert refusal is not None
    assert refusal.refusal_class in ("stream cut", "connection")
    assert "retry-wait" in thread.activities
    assert thread.kinds().count("context_edit") == 1


def test_nobody_else_is_answered(runtimes: BuiltinRuntimes) -> None:
    """Its port is on loopback, and behind a key that only this server knows."""
    endpoint = runtimes.local_model.endpoint()
    assert endpoint.base_url.startswith("http://127.0.0.1:")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(f"{endpoint.base_url}/chat/completions", data=b"{}")
    with pytest.raises(urllib.error.HTTPError) as refused:
        opener.open(request)
    assert refused.value.code == 401
    refused.value.close()


def test_closing_ends_the_process(runtimes: BuiltinRuntimes) -> None:
    """Nothing is left behind."""
    runtimes.local_model.endpoint()
    pid = runtimes.local_model.pid
    assert pid is not None
    runtimes.close()
    assert not is_running(pid)


def test_it_dies_with_its_parent_however_that_ends(tmp_path: Path) -> None:
    """SIGKILL gives no one time to clean up: the process sees that its parent is gone."""
    script = textwrap.dedent(
        """
        import sys, threading
        from pathlib import Path
        from enso.host.runtimes.builtin.local_model import LocalModel
        model = LocalModel()
        model.endpoint()
        print(model.pid, flush=True)
        threading.Event().wait()
        """
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(20)
    assert wait_until_gone(child)


def test_the_first_answer_comes_within_seconds(runtimes: BuiltinRuntimes, tmp_path: Path) -> None:
    """From nothing, process and library included: a person does not wonder whether it works."""
    thread: LiveThread = new_thread(runtimes, tmp_path)
    started = time.monotonic()
    thread.start("Please say hello to me in one short and friendly sentence.")
    thread.wait_for(PartStarted)
    assert time.monotonic() - started < 30, "far more than it takes on a machine with other work"
    thread.runtime.abort()
    thread.wait_settled()
