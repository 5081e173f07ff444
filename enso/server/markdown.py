"""Markdown to HTML that is safe to show, whoever wrote it.

A model's text is hostile: it may quote a page, a file, or a person who wants a script to run here. So
raw HTML is shown as text, links lead only to ``http``, ``https`` and ``mailto``, no image is ever
fetched, and a second fence (nh3, with an allow-list) stands behind the renderer. Code is coloured by
classes alone, because the pages allow no inline style. Nothing here knows messages or templates.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

MAX_HIGHLIGHTED = 100_000
"""Characters of one code block beyond which it is not coloured."""

MAX_RENDERED = 200_000
"""Characters of one text beyond which it is shown as it was written."""

MAX_BRACKETS = 20_000
"""Opening brackets of one text beyond which it is shown as it was written: each may begin a link."""

MAX_CACHED_CHARACTERS = 16_000_000

_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SHOWN_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,32}\Z")

_TAGS = {
    "a", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "img", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead",
    "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "target", "title", "class"},
    "code": {"class", "dir"},
    "div": {"class", "tabindex", "role", "dir"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "pre": {"class", "tabindex", "dir"},
    "span": {"class", "title"},
    "td": {"class"},
    "th": {"class"},
    **{tag: {"dir"} for tag in ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "blockquote")},
}
_ATTRIBUTES["ol"] = {"start", "dir"}
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True, classprefix="z-")


def is_followed_link(url: str) -> bool:
    """Whether a page may lead to ``url``: out of Enso, by a scheme that only opens a page."""
    return _LINK.match(url) is not None


def is_shown_image(url: str) -> bool:
    """Whether ``url`` is an image that is shown: its bytes are in it, and its kind holds no script."""
    return _SHOWN_IMAGE.match(url) is not None


def highlighted(code: str, language: str) -> str:
    """``code`` as escaped HTML, coloured by classes when its language is known."""
    if not _LANGUAGE.match(language) or len(code) > MAX_HIGHLIGHTED:
        return escapeHtml(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escapeHtml(code)
    return highlight(code, lexer, _FORMATTER).removesuffix("\n")


# -- how tokens are drawn -------------------------------------------------------------------------


class _Renderer(RendererHTML):
    """Draws what differs from plain CommonMark: code, links, images and tables."""

    def fence(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A block of code, coloured; it scrolls by itself, so that the page never does."""
        words = tokens[idx].info.split(maxsplit=1)
        code = highlighted(tokens[idx].content.removesuffix("\n"), words[0] if words else "")
        return f'<pre class="code" tabindex="0" dir="ltr"><code>{code}</code></pre>\n'

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """An indented block of code."""
        code = escapeHtml(tokens[idx].content.removesuffix("\n"))
        return f'<pre class="code" tabindex="0" dir="ltr"><code>{code}</code></pre>\n'

    def table_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A table, in a box that scrolls."""
        return '<div class="table" tabindex="0" role="group"><table>\n'

    def table_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """The end of a table and its box."""
        return "</table></div>\n"

    def td_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A cell; its side is a class, because styles are not allowed inline."""
        tag = tokens[idx].tag
        side = str(tokens[idx].attrGet("style") or "").removeprefix("text-align:")
        return f'<{tag} class="{side}">' if side in ("right", "center") else f"<{tag}>"

    th_open = td_open

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A link that leads out; one that would lead into Enso's own routes is only its words."""
        href = str(tokens[idx].attrGet("href") or "")
        if not is_followed_link(href):
            return f'<span class="path" title="{escapeHtml(href)}">'
        title = str(tokens[idx].attrGet("title") or "")
        hint = f' title="{escapeHtml(title)}"' if title else ""
        return f'<a href="{escapeHtml(href)}" target="_blank"{hint}>'

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """The end of a link: the same kind as its beginning."""
        depth = 0
        for token in reversed(tokens[: idx + 1]):
            depth += (token.type == "link_close") - (token.type == "link_open")
            if depth == 0:
                followed = is_followed_link(str(token.attrGet("href") or ""))
                return "</a>" if followed else "</span>"
        return "</span>"

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """An image whose bytes are there is shown; one elsewhere is never fetched, only linked to."""
        token = tokens[idx]
        source = str(token.attrGet("src") or "")
        words = self.renderInlineAsText(token.children or [], options, env)
        if is_shown_image(source):
            return f'<img src="{source}" alt="{escapeHtml(words)}">'
        label = escapeHtml(words or source[:200])
        if is_followed_link(source):
            return f'<a href="{escapeHtml(source)}" target="_blank" class="picture">{label}</a>'
        return f'<span class="path" title="{escapeHtml(source[:200])}">{label}</span>'


def _accepts(url: str) -> bool:
    """Whether a link or image is one at all; others stay the text they were written as."""
    return is_followed_link(url) or is_shown_image(url) or _SCHEME.match(url) is None


def _mark_direction(state: Any) -> None:
    """Let every block find its own direction: a reply may hold right-to-left text among other."""
    for token in state.tokens:
        if token.nesting == 1 and token.type in _DIRECTED:
            token.attrSet("dir", "auto")


_DIRECTED = frozenset(
    {
        "paragraph_open",
        "heading_open",
        "bullet_list_open",
        "ordered_list_open",
        "blockquote_open",
    }
)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _accepts
    parser.core.ruler.push("direction", _mark_direction)
    return parser


PARSER = _parser()
"""The one parser: it keeps nothing between texts."""


# -- the second fence -----------------------------------------------------------------------------


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "href" and not is_followed_link(value):
        return None
    if name == "src" and not is_shown_image(value):
        return None
    return value


_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    attribute_filter=_attribute,
    url_schemes={"http", "https", "mailto", "data"},
    link_rel="noopener noreferrer nofollow",
)


def clean(html: str) -> str:
    """Nothing but the tags, attributes and URLs that this module makes."""
    return _CLEANER.clean(html)


# -- whole texts ----------------------------------------------------------------------------------


class _Cache:
    """The HTML of the texts that were asked for last, bounded by their characters."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._held: OrderedDict[str, Markup] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str, make: Callable[[str], Markup]) -> Markup:
        """The HTML of ``text``, made when it is not held."""
        with self._lock:
            if text in self._held:
                self._held.move_to_end(text)
                return self._held[text]
        html = make(text)
        with self._lock:
            if text not in self._held:
                self._held[text] = html
                self._size += len(text) + len(html)
            while self._size > self._limit:
                old, dropped = self._held.popitem(last=False)
                self._size -= len(old) + len(dropped)
        return html


_CACHE = _Cache(MAX_CACHED_CHARACTERS)


def render_markdown(text: str) -> Markup:
    """``text`` as safe HTML; as it was written when it is too long or too crooked to be read.

    Cached: the same text costs little the second time.
    """
    return _CACHE.get(text, _rendered)


def is_too_much(text: str) -> bool:
    """Whether ``text`` is beyond what is read as markdown."""
    return len(text) > MAX_RENDERED or text.count("[") > MAX_BRACKETS


def _rendered(text: str) -> Markup:
    if is_too_much(text):
        return plain(text)
    return Markup(clean(PARSER.render(text)))  # noqa: S704 - cleaned


def plain(text: str) -> Markup:
    """``text`` as it was written, escaped, its lines kept."""
    return Markup('<div class="plain" dir="auto">{}</div>').format(text)
