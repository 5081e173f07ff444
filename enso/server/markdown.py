"""Markdown to HTML that is safe to show, whoever wrote it.

A model's text is hostile: it may quote a page, a file, or a person who wants a script to run here.
So raw HTML is shown as text, links lead only to ``http``, ``https`` and ``mailto``, no image is
ever fetched, and a second fence (nh3, with an allow-list) stands behind the renderer. Code is
coloured by classes alone, because the pages allow no inline style. Nothing here knows messages or
templates.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, unescapeAll
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup

from enso.server.bare_links import MAX_ADDRESSES, address_at
from enso.server.markdown_work import is_much_work

MAX_HIGHLIGHTED = 50_000
"""Characters of the code of one text beyond which no more of it is coloured."""

MAX_RENDERED = 200_000
"""Characters of one text beyond which it is shown as it was written."""

MAX_TARGETS = 400_000
"""Characters of all targets and titles beyond which a text is shown as it was written: one
definition may serve ten thousand links."""

MAX_DEPTH = 20
"""Levels of quotes, lists and their items beyond which a text is shown as it was written."""

MAX_CACHED_CHARACTERS = 16_000_000

_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_ENDS_IN_SCHEME = re.compile(r"(?<![a-z0-9.+-])https?\Z", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SHOWN_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,32}\Z")
_DIRECTED = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote"})

_TAGS = {
    "a", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "img", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead",
    "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    **{tag: {"dir"} for tag in _DIRECTED},
    "a": {"class", "href", "target", "title"},
    "div": {"class", "role", "tabindex"},
    "img": {"alt", "src"},
    "ol": {"dir", "start"},
    "pre": {"class", "dir", "tabindex"},
    "span": {"class", "title"},
    "td": {"class"},
    "th": {"class"},
}


def is_followed_link(url: str) -> bool:
    """Whether a page may lead to ``url``: out of Enso, by a scheme that only opens a page."""
    return _LINK.match(url) is not None


def is_shown_image(url: str) -> bool:
    """Whether ``url`` is an image that is shown: its bytes are in it, its kind holds no script."""
    return _SHOWN_IMAGE.match(url) is not None


def highlighted(code: str, language: str) -> str:
    """``code`` as escaped HTML, coloured by classes when its language is known."""
    if not _LANGUAGE.match(language) or len(code) > MAX_HIGHLIGHTED:
        return escapeHtml(code)
    # Loaded by the first code that has a language: most pages of a thread have none.
    from enso.server.colours import coloured  # noqa: PLC0415

    return coloured(code, language)


# -- how tokens are dressed -----------------------------------------------------------------------


def _code(content: str, language: str, _attributes: str) -> str:
    """A block of code; it scrolls by itself, so that the page never does."""
    code = highlighted(content.removesuffix("\n"), language)
    return f'<pre class="code" tabindex="0" dir="ltr"><code>{code}</code></pre>'


def _dress(state: StateCore) -> None:
    """Give the tokens the tags and attributes that Enso's pages want."""
    state.tokens[:] = _dressed_blocks(state.tokens)


def _dressed_blocks(tokens: Iterable[Token]) -> Iterator[Token]:
    coloured = 0
    for token in tokens:
        if token.type == "fence" and token.info:
            coloured += len(token.content)
            if coloured > MAX_HIGHLIGHTED:
                token.info = ""
        if token.nesting == 1 and token.tag in _DIRECTED:
            # A reply may hold right-to-left text among other: every block finds its own direction.
            token.attrSet("dir", "auto")
        if token.type == "code_block":
            token.type = "fence"
        if token.type in ("td_open", "th_open"):
            _dress_cell(token)
        if token.type == "inline":
            token.children = list(_dressed_inline(token.children or []))
        if token.type == "table_open":
            box = Token("box_open", "div", 1, block=True)
            box.attrs = {"class": "table", "tabindex": "0", "role": "group"}
            yield box
        yield token
        if token.type == "table_close":
            yield Token("box_close", "div", -1, block=True)


def _dress_cell(token: Token) -> None:
    side = str(token.attrs.pop("style", "")).removeprefix("text-align:")
    if side in ("right", "center"):
        token.attrSet("class", side)


def _dressed_inline(tokens: Iterable[Token]) -> Iterator[Token]:
    link: list[Token] = []  # the open link and what it holds: links do not nest
    for token in tokens:
        if token.type == "link_open":
            _dress_link(token)
            link = [token]
        elif link:
            link.append(token)
        if token.type == "image" and not is_shown_image(str(token.attrGet("src") or "")):
            yield from _image_link(token)
            continue
        if token.type == "link_close" and link:
            token.tag = link[0].tag
            yield token
            yield from _path_beside(link)
            link = []
            continue
        yield token


def _dress_link(token: Token) -> None:
    """A link that would lead into Enso's own routes is only its words: it has no target here."""
    href = str(token.attrGet("href") or "")
    if is_followed_link(href):
        token.attrSet("target", "_blank")
        return
    token.tag = "span"
    token.attrs = {"class": "path", "title": unquote(href)[:300]}


def _path_beside(link: list[Token]) -> Iterator[Token]:
    """The path of a link that is only its words, where the words do not say it."""
    path = str(link[0].attrGet("title") or "") if link[0].tag == "span" else ""
    if path and path != "".join(token.content for token in link[1:]):
        yield Token("text", "", 0, content=" ")
        yield Token("code_inline", "code", 0, content=path)


def _image_link(image: Token) -> Iterator[Token]:
    """What stands for an image that is not shown: a link to it, by its own words."""
    source = str(image.attrGet("src") or "")
    opening = Token("link_open", "a", 1)
    opening.attrs = {"href": source, "class": "picture"}
    _dress_link(opening)
    words = Token("text", "", 0, content=image.content or source[:200])
    yield from (opening, words, Token("link_close", opening.tag, -1))


def _accepts(url: str) -> bool:
    """Whether a link or image is one at all; others stay the text they were written as."""
    return is_followed_link(url) or is_shown_image(url) or _SCHEME.match(url) is None


def _bare_link(state: StateInline, silent: bool) -> bool:
    """An address that stands in a text as it is: a link, and no mark within it is read.

    Asked at every colon, so it looks back for the scheme. A streamed text's blocks share ``env``.
    """
    if silent or state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme = _ENDS_IN_SCHEME.search(state.pending[-6:])
    asked = state.env.get("addresses", 0)
    if scheme is None or asked >= MAX_ADDRESSES:
        return False
    state.env["addresses"] = asked + 1
    start = state.pos - len(scheme[0])
    address = address_at(state.src, start, f"{scheme[0]}:")
    url = unescapeAll(address)
    href = state.md.normalizeLink(url)
    if not address or not state.md.validateLink(href):
        return False
    state.pending = state.pending[: -len(scheme[0])]
    state.push("link_open", "a", 1).attrs = {"href": href}
    state.push("text", "", 0).content = url
    state.push("link_close", "a", -1)
    state.pos = start + len(address)
    return True


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _code, "maxNesting": MAX_DEPTH})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _accepts
    parser.inline.ruler.after("text", "bare_link", _bare_link)
    parser.core.ruler.push("dress", _dress)
    return parser


def _block_parser() -> MarkdownIt:
    """Reads where blocks begin and end, and nothing within them."""
    parser = _parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


PARSER = _parser()
"""The one parser: it keeps nothing between texts."""

BLOCKS = _block_parser()
"""The same, for who asks for blocks alone."""


# -- the second fence -----------------------------------------------------------------------------


def _attribute(_tag: str, name: str, value: str) -> str | None:
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
    return len(text) > MAX_RENDERED or is_much_work(text)


def _rendered(text: str) -> Markup:
    if is_too_much(text):
        return plain(text)
    return Markup(html_of(text, {}))  # noqa: S704 - cleaned


def html_of(text: str, definitions: MutableMapping[str, object]) -> str:
    """``text`` as safe HTML, however long it is; nothing of it is left out.

    ``definitions``: the links that texts before it defined; its own are added. From the block on
    that goes beyond ``MAX_DEPTH`` it is as it was written: the parser drops what stands deeper, and
    all that follows it.
    """
    tokens = PARSER.parse(text, definitions)
    if _targets(tokens) > MAX_TARGETS:
        return str(plain(text))
    end, line = _too_deep(tokens) or (len(tokens), None)
    html = clean(PARSER.renderer.render(tokens[:end], PARSER.options, definitions))
    if line is None:
        return html
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return html + str(plain("\n".join(lines[line:])))


def _targets(tokens: Iterable[Token]) -> int:
    """How many characters the targets and titles of links and images would take in HTML."""
    inline = (child for token in tokens for child in token.children or ())
    return sum(len(str(value)) for token in inline if token.attrs for value in token.attrs.values())


def _too_deep(tokens: Sequence[Token]) -> tuple[int, int] | None:
    """The outermost block that goes too deep: the place of its token, and its first line."""
    begin, line = 0, 0
    for place, token in enumerate(tokens):
        if token.level == 0 and token.nesting == 1 and token.map:
            begin, line = place, token.map[0]
        if token.nesting == 1 and token.level >= MAX_DEPTH - 1:
            return begin, line
    return None


def plain(text: str) -> Markup:
    """``text`` as it was written, escaped, its lines kept."""
    return Markup('<div class="plain" dir="auto">{}</div>').format(text)
