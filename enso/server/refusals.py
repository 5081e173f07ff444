"""A "no" of this server's own, on its way to a page or to JSON.

A provider's refusal is part of a thread (``enso.transcript.Refusal``); this one is an answer to a
request: a status, a code for programs, and a sentence for people.
"""

from __future__ import annotations


class Refused(Exception):
    """Raised by a route, answered by ``enso.server.errors`` as HTML or JSON."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        self.status = status
        self.code = code
        self.sentence = sentence
        super().__init__(sentence)
