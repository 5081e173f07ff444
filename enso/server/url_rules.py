"""How Flask matches a URL of ours. Enso builds its URLs itself (``enso.urls``)."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.routing import Rule


class MatchingRule(Rule):
    """A rule whose URL is not built, but matched.

    werkzeug compiles two functions for each rule that build a URL of it: with a server's hundred
    rules as long as the import of a small library. Here they are compiled when somebody asks.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = super()._compile_builder

        def build(rule: MatchingRule, *args: object, **values: object) -> tuple[str, str]:
            """Build the URL, by a function that is compiled for this."""
            return compiled(append_unknown).__get__(rule, None)(*args, **values)

        return build
