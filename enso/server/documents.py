"""A thread as one HTML file: the pane's own messages, in a page that needs nothing else.

The file holds its style and its images, no script, and a policy that allows nothing beside these:
it opens offline, prints, and does no more than show what it says. It is made piece by piece, so
that a long thread costs its messages and not its HTML.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial

from jinja2 import Environment
from markupsafe import Markup

from enso.server import looks, resources
from enso.server.frames import Streams
from enso.server.macros import Macros
from enso.server.tool_lines import WHOLE
from enso.server.views import NOWHERE, ExportView

PIECE_CHARACTERS = 64 * 1024
STYLE_FILES = ("enso.css", "export.css")


class Documents:
    """Makes the files. Safe to use from many workers."""

    def __init__(self, environment: Callable[[], Environment]) -> None:
        """``environment`` is made by the first file: no page needs it."""
        self._make_environment = environment

    def html(self, view: ExportView) -> Iterator[str]:
        """The file in pieces; nothing is cut."""
        template = self._environment.get_template("export.html")
        made = template.generate(
            view=view,
            messages=self._messages(view),
            style=Markup("<style>{}</style>").format(self._style),
            policy=self._policy,
        )
        return gathered(made)

    def _messages(self, view: ExportView) -> Iterator[Markup]:
        stream = partial(Streams().html, view.key)
        for look in looks.each_look(view.messages, WHOLE):
            html = self._macros.messages.messages([look], view.key, stream, NOWHERE)
            yield Markup(html)  # noqa: S704 - what the templates made

    @cached_property
    def _environment(self) -> Environment:
        return self._make_environment()

    @cached_property
    def _macros(self) -> Macros:
        return Macros(self._environment)

    @cached_property
    def _style(self) -> Markup:
        directory = resources.static_dir()
        text = "".join((directory / name).read_text(encoding="utf-8") for name in STYLE_FILES)
        return Markup(text)  # noqa: S704 - Enso's own files

    @property
    def _policy(self) -> str:
        digest = base64.b64encode(hashlib.sha256(self._style.encode()).digest()).decode()
        return (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
            "form-action 'none'; base-uri 'none'"
        )


def gathered(pieces: Iterable[str], size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """The same text in fewer pieces, of at least ``size`` characters each but the last."""
    held: list[str] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield "".join(held)
            held, length = [], 0
    if held:
        yield "".join(held)
