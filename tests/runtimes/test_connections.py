"""What is built for requests: once for a model and its key, and without asking what may wait."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from httpx2 import AsyncClient

from enso.host.runtimes.builtin import BuiltinRuntimes
from enso.host.runtimes.builtin.connection import Connections
from enso.host.runtimes.builtin.sending import WayOut, watch, way_out
from enso.host.runtimes.builtin.timeouts import Timeouts
from enso.host.runtimes.models.configuration import ConfigurationFiles
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.models.model_choice import usable_model
from enso.host.runtimes.models.model_description import ModelName
from enso.host.runtimes.models.provider_keys import Access, may_block, resolve_access
from tests.model_server import Gate, ModelServer, Reply, configure
from tests.runtimes.live_thread import LiveThread

CODER = ModelName("labserver", "lab-coder")


def described(agent_dir: Path, api_key: str = "lab-key") -> tuple[Model, Access, bool]:
    """A model as it is configured now, what lets a request in, and whether that may wait."""
    configure(agent_dir, "http://127.0.0.1:1", api_key=api_key)
    configuration = ConfigurationFiles(agent_dir).current()
    model = usable_model(configuration, CODER)
    return model, resolve_access(configuration, model), may_block(configuration, model)


def test_a_model_is_built_once_for_all_its_requests(tmp_path: Path) -> None:
    """Request after request, also with the files read anew, gets the model that was built."""
    connections = Connections(Timeouts())
    models = [connections.model(*described(tmp_path)[:2]) for _ in range(5)]
    assert all(model is models[0] for model in models)
    assert connections.builds == 1


def test_another_key_is_another_model(tmp_path: Path) -> None:
    """A key that was changed is used by the next request, and an old one is not kept for ever."""
    connections = Connections(Timeouts())
    for number in range(20):
        model, access, _ = described(tmp_path, f"key-{number}")
        assert connections.built(model, access) is None
        connections.model(model, access)
        assert connections.built(model, access) is not None
    assert connections.builds == 20
    assert connections.built(*described(tmp_path, "key-0")[:2]) is None


def test_what_is_prepared_is_no_model_that_could_ask(tmp_path: Path) -> None:
    """Preparing knows no key: the first request builds its model with its own."""
    connections = Connections(Timeouts())
    model, access, _ = described(tmp_path)
    connections.prepare(model)
    assert connections.builds == 0
    assert connections.built(model, access) is None
    connections.model(model, access)
    assert connections.builds == 1


def test_a_held_thread_asks_without_a_hand_over(thread: LiveThread) -> None:
    """From the prompt on, a short conversation comes to its request in one worker, the loop's."""
    thread.run("Hello.")
    handed_over: list[Any] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            handed_over.append(args)
            return super().submit(*args, **kwargs)

    async def count() -> None:
        asyncio.get_running_loop().set_default_executor(Counting())

    assert isinstance(thread.runtimes, BuiltinRuntimes)
    thread.runtimes.start(count()).result()
    thread.run("Again.")
    assert handed_over == []


def test_who_made_way_for_a_request_goes_on_once_it_is_out(server: ModelServer) -> None:
    """When its last byte was handed over, not when the provider answers; none waits for long."""
    gate = Gate()
    server.script([Reply(text=("Hello.",), first_gate=gate)])
    way = WayOut()

    async def prepare(request: Any) -> None:
        watch(request)

    async def ask() -> None:
        way_out.set(way)
        async with AsyncClient(event_hooks={"request": [prepare]}) as client:
            url = f"{server.url}/v1/chat/completions"
            asked = asyncio.ensure_future(client.post(url, json={"model": "m", "messages": []}))
            await asyncio.to_thread(gate.reached.wait)
            async with asyncio.timeout(30):
                while not way.is_open:
                    await asyncio.sleep(0)
            gate.open()
            await asked

    assert not way.is_open
    way.make_way()
    asyncio.run(ask())


def test_only_a_command_may_keep_a_request_waiting(tmp_path: Path) -> None:
    """A key that is written down is read at once; one that a command says is not."""
    assert not described(tmp_path)[2]
    assert described(tmp_path, "!echo secret")[2]
