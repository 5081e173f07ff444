"""A live thread of the fake host, and its log: what the scripted runtime runs on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from enso.host.contract import (
    BranchContext,
    BranchRequestDetail,
    BranchStats,
    HostedThreadInspection,
    HostedThreadState,
    ModelInUse,
    PermissionModeChoice,
    PermissionModeState,
    PromptImage,
    RequestNumber,
    ThreadEvent,
    ThreadTree,
    ToolCallVerdict,
)
from enso.host.recording_runtime import RecordingRuntime
from enso.transcript import (
    ImagePart,
    Part,
    StopReason,
    TextPart,
    ToolCallPart,
    TranscriptCustom,
    TranscriptEntry,
    TranscriptLabel,
    TranscriptMarker,
    TranscriptMessage,
    TranscriptModelChange,
    TranscriptOther,
    TranscriptThinkingLevel,
    TranscriptToolResult,
    Usage,
)
from tests.fakes.fake_context import fake_context, fake_detail
from tests.fakes.fake_entries import Stored, entry_text, spend
from tests.fakes.fake_stats import fake_stats
from tests.fakes.scripted_runtime import (
    COMMANDS,
    PROVIDER,
    Reply,
    ScriptedRuntime,
)

if TYPE_CHECKING:
    from tests.fakes.fake_host import FakeHost

MODES: Final = tuple(
    PermissionModeChoice(id=mode, label=mode.title(), description=f"The {mode} mode.")
    for mode in ("plan", "ask", "edit", "auto")
)


class _MemoryLog:
    """The log of one live thread: what it holds in memory, written once an answer begins."""

    def __init__(self, host: FakeHost, live: Stored) -> None:
        self._host = host
        self._live = live
        self._unwritten: list[TranscriptEntry] = [] if host.has(live.id) else list(live.entries)
        self._moved = False

    def store_prompt(self, message: str, images: Sequence[PromptImage]) -> TranscriptEntry:
        parts: tuple[Part, ...] = (TextPart(message),) if message else ()
        parts += tuple(ImagePart(image.mime_type, image.data) for image in images)
        return self._append(TranscriptMessage(**self._place(), role="user", parts=parts))

    def begin_answer(self) -> tuple[str, int]:
        if self._unwritten:
            self._host.write(self._live, *self._unwritten)
            self._unwritten = []
        return self._host.next_place()

    def store_answer(
        self,
        entry_id: str,
        created_at: int,
        reply: Reply,
        parts: tuple[Part, ...],
        stop_reason: StopReason,
        model: str,
    ) -> TranscriptEntry:
        return self._append(
            TranscriptMessage(
                id=entry_id,
                created_at=created_at,
                role="assistant",
                parts=parts,
                provider=PROVIDER,
                model=model,
                usage=reply.usage,
                stop_reason=stop_reason,
                refusal=reply.refusal if stop_reason == "error" else None,
            )
        )

    def store_result(self, call: ToolCallPart, text: str, *, is_error: bool) -> TranscriptEntry:
        return self._append(
            TranscriptToolResult(
                **self._place(),
                tool_call_id=call.id,
                tool_name=call.name,
                parts=(TextPart(text),),
                is_error=is_error,
            )
        )

    def store_summary(self, summary: str) -> TranscriptEntry:
        return self._append(
            TranscriptMarker(
                **self._place(), kind="compaction", title="Conversation compacted", text=summary
            )
        )

    def store_custom(self, custom_type: str, data: Any) -> TranscriptEntry:
        return self._append(TranscriptCustom(**self._place(), custom_type=custom_type, data=data))

    def store_model(self, provider: str, model: str) -> TranscriptEntry:
        return self._append(TranscriptModelChange(**self._place(), provider=provider, model=model))

    def store_level(self, level: str) -> TranscriptEntry:
        return self._append(TranscriptThinkingLevel(**self._place(), level=level))

    def store_name(self, name: str) -> TranscriptEntry:
        self._live.name = name or None
        return self._append(TranscriptOther(**self._place(), kind="session_info"))

    def store_label(self, entry_id: str, label: str) -> TranscriptEntry | None:
        if entry_id not in self._live.tree.entries:
            return None
        return self._append(TranscriptLabel(**self._place(), target_id=entry_id, label=label))

    def go_to(self, entry_id: str | None) -> bool:
        if entry_id is not None and entry_id not in self._live.tree.entries:
            return False
        branch = self._live.tree.branch(entry_id)
        last = branch[-1] if branch else None
        if isinstance(last, TranscriptMessage) and last.role == "user":
            branch = branch[:-1]
        self._live.entries = branch
        self._moved = True
        return True

    def transcript(self) -> Sequence[TranscriptEntry]:
        return list(self._live.entries)

    def _place(self) -> dict[str, Any]:
        entry_id, created_at = self._host.next_place()
        return {"id": entry_id, "created_at": created_at}

    def _append(self, entry: TranscriptEntry) -> TranscriptEntry:
        self._live.extend(entry)
        if not self._host.has(self._live.id):
            self._unwritten = list(self._live.entries)
        elif self._moved:
            self._host.rewrite(self._live)
            self._moved = False
        else:
            self._host.write(self._live, entry)
        return entry


class FakeThread:
    """A live thread of the fake host; implements ``HostedThread``."""

    def __init__(self, host: FakeHost, live: Stored, model: ModelInUse | None) -> None:
        self._host = host
        self._live = live
        self.scripted = ScriptedRuntime(_MemoryLog(host, live), host.script, model=model)
        self._runtime = RecordingRuntime(self.scripted)
        self.closed = False
        self.rests = threading.Event()

    @property
    def runtime(self) -> RecordingRuntime:
        """What runs it."""
        return self._runtime

    @property
    def loaded_extension_paths(self) -> Sequence[str]:
        """None."""
        return ()

    def inspect(self) -> HostedThreadInspection:
        """The branch, and where it would be kept."""
        self.rests.clear()
        live = self._live
        path = Path("/nowhere") / live.id
        return HostedThreadInspection(
            session_id=live.id,
            cwd=live.directory,
            session_dir=path.parent,
            session_file=self.session_file,
            entries=tuple(live.entries),
            commands=tuple(command.name for command in COMMANDS),
            name=live.name,
            labels=live.tree.labels(),
        )

    def state_of_now(self) -> Callable[[], HostedThreadState]:
        """All of it, made at once."""
        state = HostedThreadState(
            inspection=self.inspect(), usage=self.usage(), permission_mode=self.permission_mode()
        )
        return lambda: state

    def tree(self) -> ThreadTree:
        """Every entry of the thread."""
        return self._live.tree.read(self._live.leaf)

    def said(self, entry_id: str) -> Sequence[Part] | None:
        """The parts of a prompt of the thread."""
        return self._live.tree.said(entry_id)

    def usage(self) -> Usage:
        """The spend of the whole thread."""
        return spend(self._live.entries)

    def branch_context(self) -> BranchContext:
        """The branch's context, request by request."""
        return fake_context(tuple(self._live.entries))

    def branch_request_detail(self, request: RequestNumber) -> BranchRequestDetail | None:
        """One request, element by element."""
        return fake_detail(tuple(self._live.entries), request)

    def stored_entry(self, entry_id: str) -> str | None:
        """An entry as JSON."""
        return entry_text(tuple(self._live.entries), entry_id)

    def branch_stats(self) -> BranchStats:
        """What the thread used so far."""
        return fake_stats(list(self._live.entries))

    def emitted_events(self) -> list[ThreadEvent]:
        """The events of the current or last run."""
        return self._runtime.events()

    def permission_mode(self) -> PermissionModeState:
        """The mode the transcript ends in."""
        return self._host.stored_permission_mode(self._live.entries)

    def probe_tool_call(
        self, tool_name: str, arguments: Mapping[str, Any]
    ) -> ToolCallVerdict | None:
        """Reading is free; what runs and what writes goes by the mode."""
        del arguments
        if tool_name not in ("read", "bash", "edit", "write"):
            return None
        if tool_name == "read":
            return ToolCallVerdict(verdict="allow")
        mode = self.permission_mode().mode
        if mode == "plan":
            return ToolCallVerdict(verdict="refuse", reason="Plan mode changes nothing.")
        free = mode == "auto" or (mode == "edit" and tool_name != "bash")
        return ToolCallVerdict(verdict="allow" if free else "ask")

    def changed_elsewhere(self) -> bool:
        """Whether ``grow``, ``rename``, ``store`` or ``remove`` touched the thread."""
        version = self._host.version(self._live.id)
        never_stored = version is None and self._live.version == 0
        return not never_stored and version != self._live.version

    @property
    def session_file(self) -> Path | None:
        """Where it would be kept."""
        return Path("/nowhere") / self._live.id if self._host.has(self._live.id) else None

    @property
    def weight(self) -> int:
        """Four bytes an entry, until it rests."""
        stored = self._host.has(self._live.id)
        return 4 * len(self._live.entries) if stored and not self.rests.is_set() else 0

    def rest(self) -> bool:
        """Forget what was told; the entries are the host's own."""
        if not self._host.has(self._live.id):
            return False
        self.rests.set()
        self._runtime.forget_events()
        return True

    def close(self) -> None:
        """Close the runtime."""
        self.closed = True
        self._runtime.close()
