"""One request of a run: asked, streamed to whoever listens, and stored as pi stores its answer.

Owns when the thread's file begins, and that a request that was made leaves exactly one assistant
message, whatever happens to it. What comes after an answer is the agent's loop's.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from enso.host.contract import Activity, MessageStarted, ThreadEvent
from enso.host.runtimes.activities import Activities
from enso.host.runtimes.builtin.kept_conversation import KeptConversation
from enso.host.runtimes.builtin.library import Library, load_library, loaded_library
from enso.host.runtimes.builtin.run import Run, Stopped
from enso.host.runtimes.builtin.services import Services
from enso.host.runtimes.builtin.spend import stored_usage
from enso.host.runtimes.builtin.thread_log import ThreadLog, now_ms
from enso.host.runtimes.models.model import Model
from enso.transcript import Refusal, TranscriptMessage

if TYPE_CHECKING:
    from enso.host.runtimes.builtin.answer import Answer
    from enso.host.runtimes.builtin.answer_fields import Ending


class Asked(NamedTuple):
    """What came of a request: the stored message, and why it was refused, if it was.

    ``retry_after`` is how many milliseconds the provider asked to wait.
    """

    entry_id: str
    message: dict[str, Any]
    refusal: Refusal | None = None
    retry_after: int | None = None

    @property
    def stop_reason(self) -> str:
        """Pi's word for how it ended."""
        return str(self.message["stopReason"])


class PlainAnswer(NamedTuple):
    """What came of a request that is no message of the thread: its fields as they would be stored.

    ``text`` is all of its text.
    """

    text: str
    message: dict[str, Any]
    retry_after: int | None


class Asker:
    """Makes the requests of one run, to one model."""

    def __init__(
        self,
        run: Run,
        log: ThreadLog,
        services: Services,
        activities: Activities,
        *,
        kept: KeptConversation,
        model: Model,
        level: str,
    ) -> None:
        self._run = run
        self._log = log
        self._services = services
        self._activities = activities
        self._kept = kept
        self.model = model
        self.level = level

    # -- messages of the thread -------------------------------------------------------------------

    async def ask(self) -> Asked:
        """Ask for the next message of the branch and store it; an aborted one when it is stopped.

        Raises ``Stopped`` when the thread was closed before anything of it came: then nothing is
        stored, and the prompt stays unanswered.
        """
        self._activities.at(Activity(kind="asking"))
        try:
            library = await self._run.step(self._library())
        except Stopped:
            return self.store_unasked()
        answer: Answer = library.answer.Answer(
            self.model,
            self.level,
            begin=lambda: self._begin(answer.started_at),
            tell=self._log.tell,
        )
        ending = await self._ending(answer, library, self._stream(answer))
        if self._run.closing and self._run.message_id is None:
            self._log.session.begin()
            raise Stopped
        return self._store(answer.fields(ending), ending.retry_after)

    def store_unasked(self, why: str = "This operation was aborted") -> Asked:
        """Store the message of a request that was not made any more.

        Raises ``Stopped`` when the thread was closed: the branch then stays as it is.
        """
        if self._run.closing:
            self._log.session.begin()
            raise Stopped
        message: dict[str, Any] = {
            "role": "assistant",
            "content": [],
            "api": self.model.api,
            "provider": self.model.provider,
            "model": self.model.id,
            "usage": stored_usage(self.model, None, answered=False),
            "stopReason": "aborted",
            "timestamp": now_ms(),
            "errorMessage": why,
            "durationMs": 0,
            "thinkingLevel": self.level,
        }
        return self._store(message, None)

    def _begin(self, started_at: int) -> str:
        """The first sign of an answer: from here on the thread is on disk."""
        session = self._log.session
        session.begin()
        self._run.message_id = message_id = session.new_entry_id()
        self._activities.at(Activity(kind="answering"))
        self._log.tell(MessageStarted(message_id, self.model.provider, self.model.id, started_at))
        return message_id

    def _store(self, message: dict[str, Any], retry_after: int | None) -> Asked:
        self._log.session.begin()
        stored = self._log.store("message", {"message": message}, self._run.message_id)
        self._run.message_id = None
        refusal = stored.refusal if isinstance(stored, TranscriptMessage) else None
        return Asked(stored.id, message, refusal, retry_after)

    async def _stream(self, answer: Answer) -> Ending:
        session = self._log.session
        request = await self._services.request(
            self.model,
            session.branch(),
            level=self.level,
            thread_id=session.thread_id,
            kept=self._kept,
        )
        return await answer.stream(request)

    # -- requests that are no messages ------------------------------------------------------------

    async def ask_plainly(self, *, system: str, prompt: str) -> PlainAnswer:
        """Make a request that stands alone; nothing is told or stored. Raises ``Stopped``."""
        library = await self._run.step(self._library())
        answer: Answer = library.answer.Answer(
            self.model, self.level, begin=lambda: "", tell=_tell_nobody
        )

        async def stream() -> Ending:
            request = await self._services.plain_request(
                self.model,
                system=system,
                prompt=prompt,
                level=self.level,
                thread_id=self._log.session.thread_id,
            )
            return await answer.stream(request)

        ending = await self._ending(answer, library, stream())
        if self._run.stopped:
            raise Stopped
        message = answer.fields(ending)
        texts = [block["text"] for block in message["content"] if block["type"] == "text"]
        return PlainAnswer("\n".join(texts), message, ending.retry_after)

    # -- both -------------------------------------------------------------------------------------

    async def _ending(self, answer: Answer, library: Library, stream: Any) -> Ending:
        """How an answer ended; a refusal is one way to. Raises what is a fault of ours."""
        try:
            return await self._run.step(stream)
        except Stopped:
            return answer.aborted()
        except Exception as error:
            if not library.errors.is_refusal(error):
                raise
            return answer.failed(error)

    async def _library(self) -> Library:
        """The model library, loaded while the model gets ready; it takes a second the first time.

        A server that only shows pages never loads it. Once it is loaded no worker is asked: each
        hand-over takes its time while the server is busy.
        """
        loaded = loaded_library()
        if loaded is not None and not self.model.local:
            return loaded
        library, _ = await asyncio.gather(
            asyncio.to_thread(load_library), asyncio.to_thread(self._services.warm, self.model)
        )
        return library


def _tell_nobody(event: ThreadEvent) -> None:
    del event
