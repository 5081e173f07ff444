"""One run of a thread of pi's, from the request for it to its settlement."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from enso.host.contract import PromptImage, PromptRefused


@dataclass(slots=True)
class PiRun:
    """What a person asked for, and how far it came.

    The one who asked waits in ``wait`` until pi took it, refused it, or is slow; a refusal after
    that is told in the pane.
    """

    kind: Literal["prompt", "compact", "shell", "extension"]
    message: str = ""
    images: Sequence[PromptImage] = ()
    stopping: bool = False
    working: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: threading.Event = field(default_factory=threading.Event)
    _refused: PromptRefused | None = None
    _waited: bool = False

    def wait(self, seconds: float) -> None:
        """Wait until it is known whether this is a run. Raises ``PromptRefused`` when it is none.

        When it is not known by then, it is one.
        """
        self._known.wait(seconds)
        with self._lock:
            self._waited = True
            if self._refused is not None:
                raise self._refused

    def known(self) -> None:
        """Pi took it, or it is refused and over: who waits goes on."""
        self._known.set()

    def refuse(self, refused: PromptRefused) -> bool:
        """Pi did not take it; False when nobody waits any more who could be told so.

        Who waits is told by ``known``, once nothing is left of the run.
        """
        with self._lock:
            if self._waited or self._known.is_set():
                return False
            self._refused = refused
            return True
