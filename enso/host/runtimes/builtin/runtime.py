"""One thread of the built-in runtime: what can be asked of it, and its one run at a time.

Owns which run is in flight, that it is always settled, and that a stop or an end reaches it in
every state. What happens in a run is ``agent_loop``'s; what is stored and told, ``thread_log``'s.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, Literal

from enso.host.contract import (
    Activity,
    Command,
    Dialog,
    DialogAnswer,
    EventListener,
    HostError,
    ModelInUse,
    PromptImage,
    PromptRefused,
    QueuedPrompt,
    RunNotice,
    RunSettled,
    ToolCallVerdict,
)
from enso.host.runtimes.activities import Activities
from enso.host.runtimes.builtin.agent_loop import AgentLoop
from enso.host.runtimes.builtin.compaction import CompactionPlan, plan_compaction
from enso.host.runtimes.builtin.dialogs import Dialogs
from enso.host.runtimes.builtin.guard import Guard
from enso.host.runtimes.builtin.kept_conversation import KeptConversation
from enso.host.runtimes.builtin.prompt_queue import PromptQueue
from enso.host.runtimes.builtin.prompt_store import PromptStore, user_message
from enso.host.runtimes.builtin.run import Run
from enso.host.runtimes.builtin.run_parts import RunParts, run_parts
from enso.host.runtimes.builtin.sending import WayOut, way_out
from enso.host.runtimes.builtin.services import Services
from enso.host.runtimes.builtin.spending import Spending
from enso.host.runtimes.builtin.system_prompt import system_sections
from enso.host.runtimes.builtin.thread_log import ThreadLog
from enso.host.runtimes.builtin.tool_calls import ToolCalls, probe
from enso.host.runtimes.instructions.slash import expand
from enso.host.runtimes.models.model import Model
from enso.host.runtimes.thread_settings import thread_level, thread_model
from enso.host.session_file import SessionFile

log = logging.getLogger(__name__)

_CLOSING_SECONDS: Final = 5.0


class BuiltinRuntime:
    """The runtime of one live thread; implements ``ThreadRuntime``."""

    def __init__(self, session: SessionFile, services: Services) -> None:
        self._session = session
        self._services = services
        self._log = ThreadLog(session, services.provider_name)
        self._queue = PromptQueue(self._log.tell)
        self._activities = Activities(self._log.tell)
        self._dialogs = Dialogs(self._log.tell, self._activities.asked)
        place = {"cwd": session.cwd, "agent_dir": services.agent_dir}
        self._guard = Guard(log=self._log, dialogs=self._dialogs, **place)
        self._calls = ToolCalls(self._guard, tell=self._log.tell, **place)
        self._spending = Spending(
            self._log, self._dialogs, lambda: self._services.settings.spend_limit
        )
        self._kept = KeptConversation()
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._closed = False

    # -- runs -------------------------------------------------------------------------------------

    def listen(self, listener: EventListener) -> None:
        """Set the listener."""
        self._log.listen(listener)

    def prompt(self, message: str, images: Sequence[PromptImage] = ()) -> None:
        """Start a run. Raises ``PromptRefused``; then nothing was stored."""
        with self._lock:
            self._require_idle()
            _require_words(message, images)
            branch = self._session.branch()
            model = self._services.choose(branch)
            level = self._services.level(branch, model)
            prompt = user_message(self._expanded(message), images)
            # Read here, where it may block: the loop would have to hand it to yet another worker.
            sections = self._sections(model)
            way = self._start(lambda run: self._converse(run, model, level, prompt, sections))
        way.make_way()

    def compact(self, instructions: str = "") -> None:
        """Start a run that sums up. Raises ``PromptRefused`` when there is nothing to sum up."""
        with self._lock:
            self._require_idle()
            branch = self._session.branch()
            model = self._services.choose(branch)
            keep = self._services.settings.compaction(model).keep
            plan = plan_compaction(branch, keep=keep)
            if plan is None:
                raise PromptRefused(
                    "nothing-to-compact", "There is nothing to sum up: the conversation is short."
                )
            level = self._services.level(branch, model)
            self._start(lambda run: self._compact(run, model, level, plan, instructions))

    def abort(self) -> tuple[QueuedPrompt, ...]:
        """End the run that is in flight; what had streamed is kept, what was queued is returned."""
        with self._lock:
            run = self._run
            if run is None:
                return ()
            left = self._queue.close()
            self._activities.stopping()
        self._services.in_loop(run.stop)
        return left

    def close(self) -> None:
        """End a run, and tell nothing afterwards."""
        with self._lock:
            self._closed = True
            run = self._run
        if run is not None and run.done is not None:
            self._services.in_loop(run.close)
            if not self._services.in_loop_now:
                _wait(run.done)
        self._log.listen(None)

    def rest(self) -> None:
        """Keep nothing of the conversation in memory, unless a run needs it."""
        with self._lock:
            if self._run is None:
                self._kept.forget()

    def model(self) -> ModelInUse | None:
        """The model of the next prompt."""
        try:
            return self._services.choose(self._session.branch()).in_use
        except PromptRefused:
            return None

    # -- while a run is in flight -----------------------------------------------------------------

    def queue(
        self,
        message: str,
        images: Sequence[PromptImage] = (),
        *,
        when: Literal["steer", "after"],
    ) -> str:
        """Have a message delivered to the run in flight; returns the queued item's id."""
        _require_words(message, images)
        return self._queue.add(message, images, when)

    def take_back(self, item_id: str) -> QueuedPrompt | None:
        """Take a queued item out again."""
        return self._queue.take_back(item_id)

    def queued(self) -> tuple[QueuedPrompt, ...]:
        """What waits, in the order of delivery."""
        return self._queue.items

    def answer(self, dialog_id: str, answer: DialogAnswer) -> bool:
        """Answer a dialog; the first answer counts."""
        return self._dialogs.answer(dialog_id, answer)

    def dialogs(self) -> tuple[Dialog, ...]:
        """The dialogs that wait, oldest first."""
        return self._dialogs.open()

    def activity(self) -> Activity | None:
        """What the run in flight is doing."""
        return self._activities.current

    def retry_now(self) -> bool:
        """End a retry wait at once."""
        with self._lock:
            run = self._run
        if run is None or not run.waits:
            return False
        self._services.in_loop(run.go_on)
        return True

    # -- what a person sets -----------------------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Change the permission mode, also while busy; open questions are looked at again."""
        self._log.set_mode(mode)
        self._guard.look_again()

    def set_model(self, provider: str, model: str, level: str | None = None) -> None:
        """Choose the model and the thinking level of the next prompt."""
        with self._lock:
            self._require_idle()
            chosen = self._services.named(provider, model)
            branch = self._session.branch()
            wanted = level or self._services.level(branch, chosen)
            taken = self._services.take_level(chosen, wanted)
            if thread_model(branch) != (chosen.provider, chosen.id):
                fields = {"provider": chosen.provider, "modelId": chosen.id}
                self._log.store("model_change", fields)
            if thread_level(branch) != taken:
                self._log.store("thinking_level_change", {"thinkingLevel": taken})

    def rename(self, name: str) -> None:
        """Name the thread, or take its name away."""
        self._log.rename(name)

    def label(self, entry_id: str, label: str) -> None:
        """Label an entry of the file."""
        self._log.label(entry_id, label)

    def go_to(self, entry_id: str | None) -> None:
        """Continue from another entry of the file."""
        with self._lock:
            self._require_idle()
            self._log.go_to(entry_id)

    def commands(self) -> tuple[Command, ...]:
        """The slash commands of this thread."""
        return self._services.commands(self._session.cwd)

    def probe_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any]
    ) -> ToolCallVerdict | None:
        """What the guard would say of this call; ``None`` for a tool that is not there."""
        return probe(self._guard, tool_name, arguments)

    # -- a run, in the shared loop ----------------------------------------------------------------

    def _start(self, work: Callable[[Run], Coroutine[Any, Any, RunSettled]]) -> WayOut:
        """Start a run; the lock is held. Raises ``PromptRefused``; then there is none.

        Returns the way of its first request, for which the caller may make way without the lock.
        """
        self._run = run = Run()
        way = WayOut()
        self._queue.open()
        self._activities.at(Activity(kind="asking"))
        try:
            run.done = self._services.start(self._settle(run, way, work))
        except PromptRefused:
            self._forget_run()
            raise
        return way

    async def _settle(
        self, run: Run, way: WayOut, work: Callable[[Run], Coroutine[Any, Any, RunSettled]]
    ) -> None:
        """Do the work of a run; whatever comes of it, the run is settled."""
        way_out.set(way)
        settled = RunSettled("failed")
        try:
            settled = await work(run)
        except HostError as error:
            self._give_up(run, str(error))
        except Exception as error:
            log.exception("A run of thread %s failed", self._session.thread_id)
            self._give_up(run, f"Enso failed: {type(error).__name__}: {error}")
        finally:
            way.open()
            with self._lock:
                self._forget_run()
            self._log.tell(settled)

    def _forget_run(self) -> None:
        self._run = None
        self._queue.close()
        self._activities.settled()

    async def _converse(
        self,
        run: Run,
        model: Model,
        level: str,
        prompt: dict[str, Any],
        sections: Mapping[str, str],
    ) -> RunSettled:
        prompts = PromptStore(
            self._log, prompt, model=model, level=level, sections=sections, expand=self._expanded
        )
        parts = self._parts(run, model, level)
        loop = AgentLoop(parts, prompts=prompts, queue=self._queue, calls=self._calls)
        return await loop.converse()

    async def _compact(
        self, run: Run, model: Model, level: str, plan: CompactionPlan, instructions: str
    ) -> RunSettled:
        settled = await self._parts(run, model, level).compactor.by_hand(plan, instructions)
        while not run.stopped and not self._queue.close_if_empty():
            for waiting in self._queue.take("steer") or self._queue.take("after"):
                message = user_message(self._expanded(waiting.item.message), waiting.images)
                sections = await asyncio.to_thread(self._sections, model)
                settled = await self._converse(run, model, level, message, sections)
        return settled

    def _sections(self, model: Model) -> dict[str, str]:
        """What this thread's model is told before it begins. Reads files."""
        return system_sections(self._session.cwd, self._services.agent_dir, model)

    def _parts(self, run: Run, model: Model, level: str) -> RunParts:
        return run_parts(
            run,
            log=self._log,
            services=self._services,
            activities=self._activities,
            spending=self._spending,
            kept=self._kept,
            model=model,
            level=level,
        )

    def _give_up(self, run: Run, sentence: str) -> None:
        """A fault of ours: the prompt is kept if it can be, and a person is told."""
        try:
            self._session.begin()
        except HostError as error:
            log.warning("Thread %s could not be stored: %s", self._session.thread_id, error)
        self._log.drop_message(run.message_id)
        self._log.tell(RunNotice(sentence))

    def _expanded(self, message: str) -> str:
        return expand(message, self._session.cwd, self._services.agent_dir)

    def _require_idle(self) -> None:
        if self._closed:
            raise PromptRefused("closed", "This thread was let go. Send it again.")
        if self._run is not None:
            raise PromptRefused(
                "busy", "A run is in flight in this thread. Wait for it, or stop it first."
            )


def _require_words(message: str, images: Sequence[PromptImage]) -> None:
    if not message.strip() and not images:
        raise PromptRefused("empty", "The prompt is empty.")


def _wait(done: Future[None]) -> None:
    try:
        done.result(_CLOSING_SECONDS)
    except TimeoutError:
        log.warning("A run did not end within %g seconds", _CLOSING_SECONDS)
