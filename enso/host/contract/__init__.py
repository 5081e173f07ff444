"""The contract between a thread's durable log and everything above it.

Whoever stores threads and runs them implements these Protocols: ``enso.host.session_host`` over
JSONL session files, and a fake over plain transcripts in the tests; one suite runs over both. What
crosses is the transcript of ours (``enso.transcript``): no entry of a file format, no event of a
runtime's own.

Threads of the operating system are called workers here. Every method may be called from any worker.
Import this package, not its modules.
"""

from __future__ import annotations

from enso.host.contract.context import (
    BranchContext,
    BranchRequest,
    BranchRequestDetail,
    ContextElement,
    ContextPiece,
    ContextShare,
    ContextSize,
    PieceKind,
    RequestNumber,
    ShareKind,
    StoredThreadContext,
)
from enso.host.contract.events import (
    ActivityChanged,
    DialogClosed,
    DialogOpened,
    EntryStored,
    EventListener,
    MessageDropped,
    MessageStarted,
    PartDelta,
    PartReplaced,
    PartStarted,
    QueueChanged,
    RunNotice,
    RunSettled,
    ThreadEvent,
    ToolProgress,
)
from enso.host.contract.host import AgentHost, ChangeListener, HostReadiness
from enso.host.contract.live import HostedThread, HostedThreadInspection, ToolCallVerdict
from enso.host.contract.refusals import (
    HostError,
    PromptRefused,
    SessionDirectoryRefused,
    SessionNotWritten,
    SessionUnreadable,
    ThreadNotStored,
)
from enso.host.contract.report import Check, CheckState, HostReport
from enso.host.contract.runtime import ThreadRuntime
from enso.host.contract.stats import (
    BranchStats,
    JointSpend,
    RequestKind,
    RequestOutcome,
    RequestStats,
    StoredThreadStats,
    ToolStats,
    TurnStats,
    joint_spend,
)
from enso.host.contract.stored import (
    Found,
    Passage,
    PermissionModeChoice,
    PermissionModeId,
    PermissionModeState,
    StoredLog,
    StoredThread,
    StoredThreadRead,
    ThreadEnd,
)
from enso.host.contract.tree import ThreadTree, ThreadTreeEntry, TreeKind, first_line
from enso.host.contract.waiting import (
    Activity,
    Command,
    Dialog,
    DialogAnswer,
    DialogOption,
    ModelChoice,
    ModelInUse,
    PromptImage,
    QueuedPrompt,
)

__all__ = [
    "Activity",
    "ActivityChanged",
    "AgentHost",
    "BranchContext",
    "BranchRequest",
    "BranchRequestDetail",
    "BranchStats",
    "ChangeListener",
    "Check",
    "CheckState",
    "Command",
    "ContextElement",
    "ContextPiece",
    "ContextShare",
    "ContextSize",
    "Dialog",
    "DialogAnswer",
    "DialogClosed",
    "DialogOpened",
    "DialogOption",
    "EntryStored",
    "EventListener",
    "Found",
    "HostError",
    "HostReadiness",
    "HostReport",
    "HostedThread",
    "HostedThreadInspection",
    "JointSpend",
    "MessageDropped",
    "MessageStarted",
    "ModelChoice",
    "ModelInUse",
    "PartDelta",
    "PartReplaced",
    "PartStarted",
    "Passage",
    "PermissionModeChoice",
    "PermissionModeId",
    "PermissionModeState",
    "PieceKind",
    "PromptImage",
    "PromptRefused",
    "QueueChanged",
    "QueuedPrompt",
    "RequestKind",
    "RequestNumber",
    "RequestOutcome",
    "RequestStats",
    "RunNotice",
    "RunSettled",
    "SessionDirectoryRefused",
    "SessionNotWritten",
    "SessionUnreadable",
    "ShareKind",
    "StoredLog",
    "StoredThread",
    "StoredThreadContext",
    "StoredThreadRead",
    "StoredThreadStats",
    "ThreadEnd",
    "ThreadEvent",
    "ThreadNotStored",
    "ThreadRuntime",
    "ThreadTree",
    "ThreadTreeEntry",
    "ToolCallVerdict",
    "ToolProgress",
    "ToolStats",
    "TreeKind",
    "TurnStats",
    "first_line",
    "joint_spend",
]
