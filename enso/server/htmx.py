"""What htmx says of a request, and how the answer must differ.

Facts of htmx 4.0.1: a swap of the rail's sends ``HX-Request: true`` with ``HX-Request-Type:
partial``; going back or forward sends ``HX-History-Restore-Request: true`` alone and needs the
whole page.
"""

from __future__ import annotations

from dataclasses import dataclass

from werkzeug.datastructures import Headers

VARY = "HX-Request, HX-Request-Type, HX-History-Restore-Request"


@dataclass(frozen=True, slots=True)
class HtmxRequest:
    """Reads the htmx headers of one request."""

    headers: Headers

    @property
    def is_htmx(self) -> bool:
        """Whether htmx sent it at all, restores aside."""
        return self.headers.get("HX-Request") == "true"

    @property
    def is_restore(self) -> bool:
        """Whether it restores a page of the history."""
        return self.headers.get("HX-History-Restore-Request") == "true"

    @property
    def wants_fragment(self) -> bool:
        """Whether the answer is a fragment for a target, not a page."""
        return (
            self.is_htmx
            and not self.is_restore
            and self.headers.get("HX-Request-Type") == "partial"
        )

    @property
    def current_url(self) -> str:
        """The URL in the address bar; empty when htmx did not send it."""
        return self.headers.get("HX-Current-URL", "")
