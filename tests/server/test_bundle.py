"""The bundle for a bug report: what it holds, and that no secret is in it unless it is kept."""

from __future__ import annotations

import io
import json
import logging
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from enso import wire
from enso.composition import build_server
from enso.server.application import EnsoServer
from enso.server.bundle import FILES
from enso.server.doors import Doors
from enso.settings import Settings
from tests.fakes.fake_entries import assistant, user
from tests.fakes.fake_host import FakeHost
from tests.server.conftest import prompt, settled
from tests.server.test_redaction import PEM, SECRETS

GITHUB = SECRETS["GitHub token"][0]
SPELLED = "Correct-horse-7-battery"
TOKEN = "the-operators-token-9"


def unzipped(data: bytes) -> dict[str, str]:
    """The files of a bundle, whose sums hold."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def bundle(client: FlaskClient, thread_id: str, query: str = "") -> dict[str, str]:
    """The files of a thread's bundle, as a program gets it."""
    answer = client.get(f"/api/threads/{thread_id}/bundle.zip{query}")
    assert answer.status_code == 200
    assert answer.mimetype == "application/zip"
    told = answer.headers["Content-Disposition"]
    assert told == f'attachment; filename="enso-bundle-{thread_id}.zip"'
    return unzipped(answer.data)


@pytest.mark.parametrize("live", [False, True])
def test_a_bundle_holds_what_its_page_says(
    host: FakeHost, server: EnsoServer, client: FlaskClient, live: bool
) -> None:
    """Live or cold: the thread, the inspection with its events, log, configuration, versions."""
    host.store("t1", user("Hi"), assistant("Hello."))
    if live:
        prompt(client, "t1", "More")
        settled(server, "t1")
    logging.getLogger("enso.somewhere").warning("something went wrong")
    built = len(host.built)
    files = bundle(client, "t1")
    assert list(files) == [file.name for file in FILES]
    log = host.open_stored_log("t1")
    assert log is not None
    with log.stream as stream:
        assert files["thread.jsonl"] == stream.read().decode()
    seen = json.loads(files["inspection.json"])
    assert seen["threadId"] == "t1"
    assert [entry["kind"] for entry in seen["entries"]][:2] == ["message:user", "message:assistant"]
    assert bool(seen.get("emittedEvents")) == live
    assert "something went wrong" in files["log.txt"]
    assert json.loads(files["configuration.json"])["checks"]
    assert json.loads(files["versions.json"])["python"]
    assert "No keys or tokens were found." in files["README.txt"]
    assert len(host.built) == built
    page = client.get("/threads/t1/bundle").text
    assert all(file.name in page for file in FILES)
    assert 'name="keep"' not in page


def test_a_thread_that_is_not_there_has_no_bundle(
    host: FakeHost, client: FlaskClient, tmp_path: Path
) -> None:
    """Nor one of a directory that is not served."""
    host.store("elsewhere", user("Hi"), assistant("Hello."), directory=tmp_path / "other")
    for thread_id, status in (("none", 404), ("elsewhere", 403), ("-x", 404)):
        answer = client.get(f"/api/threads/{thread_id}/bundle.zip")
        assert answer.status_code == status
        wire.Error.model_validate_json(answer.text)
        assert client.get(f"/threads/{thread_id}/bundle").status_code == status


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[FlaskClient]:
    """A real server with a secret in every place from which a bundle is made."""
    agent_dir, project = tmp_path / "agent", tmp_path / "shop"
    sessions = agent_dir / "sessions" / "--shop--"
    sessions.mkdir(parents=True)
    project.mkdir()
    (agent_dir / "auth.json").write_text(
        json.dumps({"openai": {"type": "api_key", "key": SPELLED}})
    )
    provider = {
        "baseUrl": "http://localhost:1/v1",
        "api": "openai-completions",
        "apiKey": "Written-in-models-1",
        "headers": {"X-Own": "Written-in-headers-2"},
        "models": [{"id": "m"}],
    }
    (agent_dir / "models.json").write_text(json.dumps({"providers": {"workshop": provider}}))
    texts = [GITHUB, f"it said {SPELLED} and Written-in-models-1", PEM, "Written-in-headers-2"]
    texts.append(f"{TOKEN} {os.environ['PLANTED_API_KEY']}")
    header = {"type": "session", "version": 3, "id": "t1", "cwd": str(project)}
    lines = [header] + [
        {
            "type": "message",
            "id": f"{number:08x}",
            "parentId": f"{number - 1:08x}" if number > 1 else None,
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        }
        for number, text in enumerate(texts, 1)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines) + f'{{"torn": "{GITHUB}'
    (sessions / "2026_t1.jsonl").write_text(text)
    server = build_server(
        Settings(agent_dir=agent_dir, projects=(project,), token=TOKEN),
        Doors.of(host="0.0.0.0", token=TOKEN),
    )
    logging.getLogger("enso").warning("the provider said %s and %s", GITHUB, SPELLED)
    client = server.app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
    yield client
    server.close()


@pytest.fixture(autouse=True)
def planted_variable() -> Iterator[None]:
    """A key in the environment of this process."""
    os.environ["PLANTED_API_KEY"] = "From-the-environment-3"
    yield
    del os.environ["PLANTED_API_KEY"]


def test_no_planted_secret_is_in_a_bundle(planted: FlaskClient) -> None:
    """Not of the thread, the settings, the environment or the log; what was found is told."""
    files = bundle(planted, "t1")
    pem = PEM.splitlines()[5]
    secrets = [GITHUB, SPELLED, "Written-in-models-1", "Written-in-headers-2", TOKEN, pem]
    secrets.append("From-the-environment-3")
    for name, text in files.items():
        for secret in secrets:
            assert secret not in text, f"{secret} is in {name}"
    assert json.loads(files["configuration.json"])["settings"]["token"] == "set"
    assert "workshop" in files["configuration.json"]
    told = files["README.txt"]
    assert "replaced by words" in told
    assert "thread.jsonl: line 2, line 3, line 4, line 5, line 6, line 7" in told
    assert "private key: 2" in told or "private key: 1" in told
    assert json.loads(files["thread.jsonl"].splitlines()[0])["id"] == "t1"


def test_a_person_may_keep_what_was_found(planted: FlaskClient) -> None:
    """The page says how many there are, and offers to keep them; then the thread is as stored."""
    page = planted.get("/threads/t1/bundle").text
    assert 'name="keep"' in page
    assert "GitHub token" in page
    found = page[page.index('class="found any"') : page.index("</form>", page.index("found any"))]
    assert GITHUB not in found
    files = bundle(planted, "t1", "?keep=1")
    assert GITHUB in files["thread.jsonl"]
    assert "kept" in files["README.txt"]
