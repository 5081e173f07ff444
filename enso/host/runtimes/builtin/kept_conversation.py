"""What a thread's last request was made of, kept so that the next one converts only what came.

Knows nothing of the library that the conversation is for (``request`` does), so that a thread can
have one before that is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enso.host.runtimes.builtin.request import Conversion


class KeptConversation:
    """The last conversion of one thread's branch. Read and written by its one run, or by nobody."""

    def __init__(self) -> None:
        self.last: Conversion | None = None

    def forget(self) -> None:
        """Keep nothing; the next request converts the whole branch."""
        self.last = None
