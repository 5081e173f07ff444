"""How long the real pi takes to start: what times that pi has no like of are told in.

    python -m benchmarks.pi_start

A millisecond says little when one machine is three times as fast as another. What is wanted of a
start, a visit or a prompt was said in seconds of a machine on which pi 1.6.0 starts and answers in
0.25 s; beside each such time stands how many starts of pi it is, measured in the same run.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time

from tests.interop.real_pi import real_pi

RUNS = 5
WHERE_WANTED = 0.25
"""Seconds that a start of pi takes on the machine on which the wanted times were said."""


def pi_start() -> float:
    """Seconds from a start of pi, as a program that talks to it starts it, to its first answer.

    The median of five, without looking anything up in the network. Raises ``NoPi``.
    """
    return statistics.median(_started() for _ in range(RUNS))


def in_starts(seconds: float, start: float, wanted: float) -> str:
    """A time in starts of pi, and how many of them are wanted; ``wanted`` is in seconds, there."""
    return f"{seconds / start:.3f} of pi's start (wanted: {wanted / WHERE_WANTED:.3f})"


def _started() -> float:
    command = [*real_pi("1.6.0").command, "--mode", "rpc", "--no-session"]
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "PI_CODING_AGENT_DIR": directory, "PI_OFFLINE": "1"}
        begun = time.perf_counter()
        with subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as pi:
            assert pi.stdin is not None
            assert pi.stdout is not None
            pi.stdin.write(b'{"id": "1", "type": "get_state"}\n')
            pi.stdin.flush()
            for line in pi.stdout:
                if json.loads(line).get("type") == "response":
                    break
            seconds = time.perf_counter() - begun
            pi.terminate()
    return seconds


if __name__ == "__main__":
    print(f"pi starts and answers in {pi_start():.2f} s")
