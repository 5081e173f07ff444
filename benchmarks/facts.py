"""Every fact of a store's listing beside what the real pi's own ``SessionManager`` says of it.

    python -m benchmarks.facts <agent directory>

Prints how many rows of Enso's first glance its exact look then changed, how many sessions both
list, how many differ in which fact, and why. Ends with 1 when one differs for a reason that is not
known.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.listing import host_over
from benchmarks.storage import installed_pi
from enso.host.contract import StoredThread

PI = """
const { SessionManager } = await import(process.argv[1]);
const told = (one) => [one.path, {
  id: one.id, cwd: one.cwd, name: one.name ?? null, modified: one.modified.getTime(),
  messageCount: one.messageCount, firstMessage: one.firstMessage,
}];
const all = await SessionManager.listAll();
process.stdout.write(JSON.stringify(Object.fromEntries(all.map(told))));
"""
NO_MESSAGES = "(no messages)"
"""What pi shows where there is no first message."""
SEPARATOR = re.compile(b"\xe2\x80[\xa8\xa9]|\r(?!\n)")
"""What Node's reading of lines also takes for the end of one: U+2028, U+2029, a lone CR."""

Facts = dict[str, Any]


def of_pi(agent_dir: Path) -> dict[str, Facts]:
    """What pi says of each file. Raises ``NoPi``."""
    pi = installed_pi()
    run = subprocess.run(
        [pi.node, "--input-type=module", "-e", PI, pi.module],
        env={**os.environ, "PI_CODING_AGENT_DIR": str(agent_dir), "PI_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    facts: dict[str, Facts] = json.loads(run.stdout)
    for fact in facts.values():
        if fact["firstMessage"] == NO_MESSAGES:
            fact["firstMessage"] = ""
    return facts


def of_enso(agent_dir: Path) -> dict[str, Facts]:
    """What Enso says of each file, once it looked at all of them exactly."""
    with tempfile.TemporaryDirectory() as cache:
        host = host_over(agent_dir, Path(cache))
        glanced = host.list_sessions()
        host.wait_until_proven()
        proven = host.list_sessions()
        host.close()
    before = {row.path: row for row in glanced}
    changed = sum(before.get(row.path) != row for row in proven)
    print(f"{changed} of {len(proven)} rows of the first glance were changed by the exact look")
    return {str(row.path): _facts(row) for row in proven}


def _facts(row: StoredThread) -> Facts:
    return {
        "id": row.id,
        "cwd": str(row.cwd),
        "name": row.name,
        "modified": round(row.modified.timestamp() * 1000),
        "messageCount": row.message_count,
        "firstMessage": row.first_message,
    }


def reason(path: str, fact: str, pi: Facts, enso: Facts) -> str | None:
    """Why the two differ; ``None`` when that is not known."""
    if SEPARATOR.search(Path(path).read_bytes()):
        return "a text holds a line separator, at which pi reads one line as two damaged ones"
    file_ms = Path(path).stat().st_mtime_ns // 1_000_000
    if fact == "modified" and enso[fact] == file_ms < pi[fact]:
        return "a message says to be later than its file was written, which Enso does not believe"
    return None


def compare(pi: dict[str, Facts], enso: dict[str, Facts]) -> bool:
    """Tell what differs and why; whether every reason is known."""
    both = pi.keys() & enso.keys()
    only_pi, only_enso = len(pi.keys() - both), len(enso.keys() - both)
    print(f"{len(both)} listed by both, {only_pi} by pi alone, {only_enso} by Enso alone")
    why: Counter[tuple[str, str | None]] = Counter()
    for path in both:
        for fact, told in pi[path].items():
            if told != enso[path][fact]:
                why[fact, reason(path, fact, pi[path], enso[path])] += 1
    for (fact, known), count in why.most_common():
        print(f"{fact} differs in {count}: {known or 'the reason is not known'}")
    return not only_pi and not only_enso and all(known for _, known in why)


def main() -> None:
    """Compare, print, and end with what came of it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("agent_dir", type=Path)
    agent_dir: Path = options.parse_args().agent_dir
    sys.exit(0 if compare(of_pi(agent_dir), of_enso(agent_dir)) else 1)


if __name__ == "__main__":
    main()
