"""Code as HTML, coloured by classes: loaded by the first text that holds code of a language."""

from __future__ import annotations

from markdown_it.common.utils import escapeHtml
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
from pygments.util import ClassNotFound

_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True, classprefix="z-")


def coloured(code: str, language: str) -> str:
    """``code`` as escaped HTML; without colours when nothing is known of its language."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escapeHtml(code)
    # Lexers know a last line by its end: without one it would be a fault to many.
    return highlight(f"{code}\n", lexer, _FORMATTER).removesuffix("\n")
