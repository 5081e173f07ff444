"""What pi 1.6.0 was recorded to say and to be told, as it can be played again.

A recording is ``tests/data/corpus/rpc/NAME.jsonl``: ``{t, dir, rec}``, where ``dir`` is ``in`` for
what a person or client sent, ``out`` for what pi said, ``exit`` for its end. What its model
answered is in what pi said; the files it wrote are ``tests/data/corpus/sessions``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.model_server import Gate, Reply

Record = dict[str, Any]

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
NAMES = sorted(path.stem for path in (CORPUS / "rpc").glob("*.jsonl"))
DIRECTORY = "/home/dev/shop-api"
"""The directory that the recorded threads worked in."""

PROJECT: Mapping[str, str] = {
    "src/orders.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass Line:\n"
    "    sku: str\n    price: int\n    qty: int\n\n\ndef total(lines):\n"
    "    return sum(l.price for l in lines)\n",
    "src/stock.py": "STOCK = {'tea': 4, 'cup': 0}\n\n\ndef available(sku, qty=1):\n"
    "    return STOCK.get(sku, 0) > qty\n",
    "tests/test_orders.py": "",
}
"""The files of that directory, by what the recorded tools read of them."""


@dataclass(slots=True)
class Sent:
    """One record that was sent, and how far pi was then.

    ``answer`` is pi's response. ``answers``: how many messages of the model had ended when it was
    sent; ``idle``: whether no run was in flight; ``streamed``: the text that streamed.
    """

    record: Record
    answers: int
    idle: bool
    streamed: str
    answer: Record = field(default_factory=dict[str, Any])


def lines(path: Path) -> list[Record]:
    """The objects of a file's lines."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


class Recording:
    """One recording. ``sent`` is what was sent, ``replies`` what the model answered, in order."""

    def __init__(self, name: str) -> None:
        self.lines = lines(CORPUS / "rpc" / f"{name}.jsonl")
        self.said: list[Record] = [one["rec"] for one in self.lines if one["dir"] == "out"]
        self.was_killed = any(one.get("returncode") == -9 for one in self.lines)
        self.sessions = list(dict.fromkeys(_session_ids(self.said)))
        self.held = Gate()
        self.sent = list(_sent(self.lines))
        self.outcomes = list(_outcomes(self.lines))
        self.replies = list(self._replies())

    @property
    def answers(self) -> int:
        """How many messages of the model there are, refused attempts among them."""
        ended = [one["message"] for one in self.said if one["type"] == "message_end"]
        return sum(message["role"] == "assistant" for message in ended)

    @property
    def settings(self) -> Record:
        """pi's settings that the recorded behaviour shows."""
        waits = [one["delayMs"] for one in self.said if one["type"] == "auto_retry_start"]
        retry = {"enabled": bool(waits), "baseDelayMs": min(waits, default=0)}
        return {"retry": retry, "compaction": {"keepRecentTokens": 400}}

    def entries(self, session_id: str) -> list[Record]:
        """The entries of a recorded session: its file's, else its messages as pi told of them."""
        for path in (CORPUS / "sessions").rglob(f"*_{session_id}.jsonl"):
            return lines(path)[1:]
        messages = [one["message"] for one in self.said if one["type"] == "message_end"]
        ids = [f"{number:08x}" for number in range(len(messages))]
        return [
            {
                "type": "message",
                "id": ids[at],
                "parentId": ids[at - 1] if at else None,
                "message": m,
            }
            for at, m in enumerate(messages)
        ]

    def has_file(self, session_id: str) -> bool:
        """Whether the file of a session was kept, or only what pi said of it."""
        return any((CORPUS / "sessions").rglob(f"*_{session_id}.jsonl"))

    def _replies(self) -> Iterator[Reply]:
        texts: list[str] = []
        entries = self.entries(self.sessions[0])
        summaries = [entry for entry in entries if entry["type"] == "branch_summary"]
        for one in self.lines:
            record = one.get("rec", {})
            event = record.get("assistantMessageEvent", {})
            if one["dir"] == "in" and record.get("message", "").endswith(" summarize"):
                yield _summary(summaries.pop(0))
            elif event.get("type") == "text_delta":
                texts.append(event["delta"])
            elif record.get("type") == "compaction_end" and "result" in record:
                yield _summary(record["result"])
            elif record.get("type") == "message_end" and record["message"]["role"] == "assistant":
                yield self._reply(record["message"], texts)
                texts = []

    def _reply(self, message: Record, texts: Sequence[str]) -> Reply:
        if message["stopReason"] == "error":
            status, _, body = message["errorMessage"].partition(": ")
            return Reply(status=int(status), body={"error": json.loads(body)})
        return Reply(
            text=texts,
            tools=[
                {"id": part["id"], "name": part["name"], "args": part["arguments"]}
                for part in message["content"]
                if part["type"] == "toolCall"
            ],
            usage=_usage(message["usage"]),
            gate=self.held if message["stopReason"] == "aborted" else None,
        )


def _usage(stored: Record) -> dict[str, int]:
    cached = stored["cacheRead"]
    return {"input": stored["input"] + cached, "cached": cached, "output": stored["output"]}


def _summary(stored: Record) -> Reply:
    """What the model said: pi adds the files that were read and changed, and what it is about."""
    said = stored["summary"].partition("\n\n<read-files>")[0]
    text = said.rpartition("Summary of that exploration:\n\n")[2]
    return Reply(text=(text,), usage=_usage(stored["usage"]))


def _session_ids(said: Sequence[Record]) -> Iterator[str]:
    for one in said:
        data = one.get("data")
        if isinstance(data, dict) and "sessionId" in data:
            yield data["sessionId"]


def _sent(recorded: Sequence[Record]) -> Iterator[Sent]:
    answers = {
        one["rec"].get("id"): one["rec"]
        for one in recorded
        if one["dir"] == "out" and one["rec"]["type"] == "response"
    }
    streamed, ended, idle = "", 0, True
    for one in recorded:
        record = one.get("rec", {})
        kind, message = record.get("type"), record.get("message")
        if one["dir"] == "in":
            yield Sent(record, ended, idle, streamed, answers.get(record.get("id"), {}))
            idle = idle and kind in _READING
        elif kind in ("agent_settled", "response"):
            over = record.get("data") or {}
            idle = idle or kind == "agent_settled" or over.get("disposition") == "handled"
            idle = idle or record.get("command") == "compact"
        elif kind == "agent_start":
            idle = False
        elif kind == "message_end" and message["role"] == "assistant":
            streamed, ended = "", ended + 1
        elif record.get("assistantMessageEvent", {}).get("type") == "text_delta":
            streamed += record["assistantMessageEvent"]["delta"]


_READING = frozenset({"get_state", "get_session_stats", "get_entries", "get_tree", "fork", "clone"})
_READING |= {"get_fork_messages", "new_session", "switch_session"}


def _outcomes(recorded: Sequence[Record]) -> Iterator[str]:
    """How each run ended that a person sees: also a command that pi did at once, or a summary."""
    stop_reason = ""
    for one in recorded:
        record = one.get("rec", {})
        if one["dir"] != "out":
            continue
        if record["type"] == "message_end" and record["message"]["role"] == "assistant":
            stop_reason = record["message"]["stopReason"]
        elif record["type"] == "agent_settled":
            refused = "refused" if stop_reason == "error" else "complete"
            yield "aborted" if record["aborted"] else refused
        elif record["type"] == "response" and record["success"]:
            handled = record.get("data", {}).get("disposition") == "handled"
            if handled or record["command"] == "compact":
                yield "complete"


def comparable(
    entries: Sequence[Record], directory: str, places: dict[str, int] | None = None
) -> list[Any]:
    """Entries without what differs from run to run; ids are the entries' places in the file."""
    places = {} if places is None else places
    for entry in entries:
        places.setdefault(entry["id"], len(places))
    return [_plain(entry, directory, places) for entry in entries]


_TOLD_APART = frozenset({"timestamp", "durationMs", "wall_time_seconds", "at", "responseId", "id"})
_IDS = frozenset({"parentId", "targetId", "firstKeptEntryId", "fromId"})


def _plain(value: Any, directory: str, places: Mapping[str, int]) -> Any:
    if isinstance(value, Mapping):
        if value.get("role") == "system":
            return {"role": "system"}
        return {
            key: places.get(one) if key in _IDS else _plain(one, directory, places)
            for key, one in value.items()
            if key not in _TOLD_APART or (key == "id" and value.get("type") == "toolCall")
        }
    if isinstance(value, list):
        return [_plain(one, directory, places) for one in value]
    if isinstance(value, float):
        return round(value, 12)
    return value.replace(directory, DIRECTORY) if isinstance(value, str) else value
