"""Enso's own runtime and a real pi go on with one thread, in turns."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.session_file import SessionFile
from enso.host.session_listing import SessionListing
from enso.projects import Projects
from tests.e2e.places import png
from tests.interop.real_pi import RealPi
from tests.interop.rpc_client import PiRpc
from tests.interop.shared_thread import Lister, Turn, enso, on_a_copy, real
from tests.interop.threads import kinds, lines
from tests.model_server import ModelServer, Reply, Request, refused
from tests.runtimes.agent_files import write_json
from tests.runtimes.live_thread import LiveThread
from tests.runtimes.test_requests_of_pi import as_said

LONG = "A paragraph about orders, shelves and totals. " * 60


def says(text: str, *calls: tuple[str, dict[str, Any]], **fields: Any) -> Reply:
    """What the model answers: a text, and calls of tools."""
    tools = [{"name": name, "args": given} for name, given in calls]
    return Reply(text=(text,), tools=tools, **fields)


def picture(red: int) -> str:
    """A picture as a prompt carries it."""
    return b64encode(png(red)).decode()


THOUGHT = says("Another way.", thinking=("They want it ", "differently."))

TURNS = (
    Turn(
        prompt="Look around.",
        replies=[
            says("I look.", ("bash", {"command": "ls; echo err >&2; exit 3"}), ("ls", {})),
            says("And read.", ("read", {"path": "shop.py", "limit": 2}), ("read", {"path": "no"})),
            says("I have looked around. " + LONG),
        ],
    ),
    Turn(
        prompt="Change it – ¥ “quoted” \u0085 🍵",
        replies=[
            says(
                "I change it.",
                (
                    "edit",
                    {"path": "shop.py", "edits": [{"oldText": "tea = 1", "newText": "tea = 2"}]},
                ),
                ("write", {"path": "notes/plan.md", "content": "# Plan\n\nTea.\n"}),
            ),
            says("Changed. " + LONG),
        ],
    ),
    Turn(
        prompt="What is this?", images=[picture(200)], name="The tea shop", replies=[says("Red.")]
    ),
    Turn(
        prompt="And these two?",
        images=[picture(90), picture(20)],
        replies=[
            says("A look.", ("read", {"path": "logo.png"})),
            says("Darker ones. " + LONG),
        ],
    ),
    Turn(prompt="Differently, please.", back_to="Red.", replies=[THOUGHT]),
    Turn(prompt="Again differently.", back_to="Red.", replies=[says("A third way. " + LONG)]),
    Turn(prompt="On with it.", replies=[refused("401")]),
    Turn(prompt="Is it better now?", replies=[says("Yes.")]),
    Turn(
        prompt="After the summary.",
        summary="We looked at a tea shop.",
        replies=[says("Good. " + LONG)],
    ),
    Turn(prompt="More.", replies=[says("More of it. " + LONG)]),
    Turn(prompt="And more.", replies=[says("Even more of it. " + LONG)]),
    Turn(
        prompt="After another one.",
        summary="We looked at a tea shop twice.",
        name="Tea",
        replies=[says("Run.", ("bash", {"command": "cat notes/plan.md"})), says("Tea it is.")],
    ),
    Turn(prompt="Thank you.", replies=[says("You are welcome.")]),
    Turn(prompt="Good bye.", replies=[says("Good bye.")]),
)


@pytest.fixture
def shop(project: Path) -> Path:
    """A project with a few files."""
    (project / "shop.py").write_text("# A shop\ntea = 1\ncups = 4\n")
    (project / "logo.png").write_bytes(png(120))
    return project


@pytest.fixture
def agent_dir(pi_agent_dir: Path) -> Path:
    """The agent directory that pi and Enso share; what is summed up is kept short."""
    settings = {"compaction": {"keepRecentTokens": 400}, "retry": {"enabled": False}}
    write_json(pi_agent_dir / "settings.json", settings)
    return pi_agent_dir


def begun(agent_dir: Path, server: ModelServer, shop: Path, model: str) -> Path:
    """A thread that Enso began, in a mode in which nothing is asked; its file."""
    runtimes = BuiltinRuntimes(agent_dir, model)
    session = SessionFile.create(agent_dir / "sessions", "shared", shop)
    thread = LiveThread(runtimes, session)
    thread.runtime.set_mode("auto")
    server.script([says("Hello.")])
    thread.run("Hello, shop.")
    thread.runtime.close()
    runtimes.close()
    return session.path


@pytest.fixture
def lister(pi: RealPi, agent_dir: Path) -> Iterator[Lister]:
    """What pi lists of the agent directory."""
    lister = Lister(pi, agent_dir)
    yield lister
    lister.close()


@pytest.mark.parametrize("model", ["labserver/lab-coder", "labclaude/lab-sonnet"])
def test_both_go_on_with_one_thread_in_turns(
    model: str, pi: RealPi, server: ModelServer, shop: Path, agent_dir: Path, lister: Lister
) -> None:
    """Seven rounds: each appends to one tree, sends what the other would, and lists the same.

    pi 1 also goes on with the words and the tools that stand in the file, once it brought its own;
    the older one knows neither there, and is asked in its own turns alone.
    """
    is_new = pi.version.startswith("1.")
    path = begun(agent_dir, server, shop, model)
    takers = [real(pi, server), enso(server)]
    for number, turn in enumerate(TURNS):
        takes, other = takers[number % 2], takers[(number + 1) % 2]
        compared = is_new or number % 2 == 0
        would_send = on_a_copy(other, turn, path, agent_dir) if compared else []
        before = path.read_bytes()
        sent = takes(turn, path, agent_dir)
        if compared:
            assert messages(sent[0]) == messages(would_send[0]), turn.prompt
        if number and is_new:
            assert words_and_tools(sent[0]) == words_and_tools(would_send[0]), turn.prompt
        assert len(sent) == len(turn.replies)
        assert_is_one_tree(path, before)
        assert_is_listed_alike(lister, agent_dir, shop)
    assert kinds(path).count("compaction") == 2
    assert kinds(path).count("message:user") == len(TURNS) + 1


def test_enso_goes_on_with_a_thread_that_pi_began(
    pi: RealPi, server: ModelServer, shop: Path, agent_dir: Path, lister: Lister
) -> None:
    """Under the id that pi gave it; and pi then goes on with what Enso wrote."""
    with PiRpc.start(
        pi, cwd=shop, agent_dir=agent_dir, arguments=["--model", "labserver/lab-coder"]
    ) as rpc:
        rpc.run("Hello, shop.")
        state = rpc.ask("get_state")
    path, thread_id = Path(state["sessionFile"]), state["sessionId"]
    for take in (enso(server), real(pi, server), enso(server)):
        before = path.read_bytes()
        sent = take(Turn(prompt="And on."), path, agent_dir)
        assert messages(sent[0])[1][-1]["content"] == [{"type": "text", "text": "And on."}]
        assert_is_one_tree(path, before, thread_id)
        assert_is_listed_alike(lister, agent_dir, shop)
    assert kinds(path).count("message:user") == 4


def test_a_prompt_that_was_never_answered(
    pi: RealPi, server: ModelServer, shop: Path, agent_dir: Path, lister: Lister
) -> None:
    """pi goes on with it. The older one writes every line again: Enso reads each once."""
    session = SessionFile.create(agent_dir / "sessions", "shared", shop)
    said = {"role": "user", "content": [{"type": "text", "text": "Are you there?"}], "timestamp": 1}
    session.append("model_change", {"provider": "labserver", "modelId": "lab-coder"})
    session.append("message", {"message": said})
    session.begin()
    real(pi, server)(Turn(prompt="Hello?"), session.path, agent_dir)
    assert_is_listed_alike(lister, agent_dir, shop)
    sent = enso(server)(Turn(prompt="Good."), session.path, agent_dir)
    told = [message["content"][0]["text"] for message in messages(sent[0])[1]]
    assert told == ["Are you there?", "Well.", "Good."]
    assert_is_listed_alike(lister, agent_dir, shop)


def messages(request: Request) -> Any:
    """What a model was sent of a conversation, and which model."""
    return request.body["model"], as_said(request.body["messages"])


def words_and_tools(request: Request) -> Any:
    """What a model was told before the conversation, and which tools it has."""
    body = request.body
    told = [body.get("system"), *(one for one in body["messages"] if one["role"] == "system")]
    tools = [tool.get("function", tool) for tool in body["tools"]]
    assert texts(told)
    return texts(told), [
        (
            tool["name"],
            tool["description"],
            sorted(tool.get("parameters", tool.get("input_schema"))["properties"]),
        )
        for tool in tools
    ]


def texts(value: Any) -> list[str]:
    """Every text in a system prompt, however it is wrapped."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return texts(value.get("content", value.get("text"))) if isinstance(value, dict) else []


def assert_is_one_tree(path: Path, before: bytes, thread_id: str = "shared") -> None:
    """Lines were appended and nothing else: each with an id of its own and a parent before it."""
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.endswith(b"\n")
    header, *entries = lines(path)
    assert (header["type"], header["version"], header["id"]) == ("session", 3, thread_id)
    known: set[str | None] = {None}
    for entry in entries:
        assert entry["parentId"] in known
        assert entry["id"] not in known
        known.add(entry["id"])
    assert [entry["parentId"] for entry in entries].count(None) == 1
    new = entries[before.count(b"\n") - 1 :]
    assert [entry["parentId"] for entry in new[1:]] == [entry["id"] for entry in new[:-1]]


def assert_is_listed_alike(lister: Lister, agent_dir: Path, shop: Path) -> None:
    """The same row: id, directory, title, name, count of messages, and when it was last said."""
    (row,) = SessionListing(agent_dir / "sessions", Projects([shop])).rows()
    (theirs,) = lister.rows()
    ours = {
        "id": row.id,
        "cwd": str(row.cwd),
        "name": row.name,
        "firstMessage": row.first_message,
        "messageCount": row.message_count,
        "modified": round(row.modified.timestamp() * 1000),
        "path": str(row.path),
    }
    assert ours == theirs
