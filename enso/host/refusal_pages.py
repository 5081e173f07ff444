"""What the HTML page says that a proxy answers with in a provider's place.

Loaded when an error text holds a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PAGE = re.compile(r"<(?:!doctype|html|head|body|title|center|h1|p|div)\b", re.IGNORECASE)
_TITLE = re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
_HIDDEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def is_page(text: str) -> bool:
    """Whether the text begins as an HTML page does."""
    return _PAGE.match(text) is not None


def holds_page(text: str) -> bool:
    """Whether the text is an HTML page, or has one in it."""
    return _PAGE.search(text) is not None


def page_words(text: str) -> Iterator[str]:
    """What a page says, the best first: its title and first headings, at last all of its words.

    Plain text; control characters are still in it.
    """
    for match in _TITLE.finditer(text):
        yield _text_of(match.group(2))
    yield _text_of(_HIDDEN.sub(" ", text))


def _text_of(markup: str) -> str:
    text = _TAG.sub(" ", markup)
    if "&" not in text:
        return text
    import html  # noqa: PLC0415 - the names of all characters take longer than the rest

    return html.unescape(text)
