"""Addresses that stand in a text as they are: which are links, and where they end."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from enso.server.bare_links import MAX_ADDRESS, MAX_ADDRESSES, linked
from enso.server.markdown import render_markdown
from enso.server.streaming import StreamingMarkdown

LINK = re.compile(
    r'<a href="([^"]*)" target="_blank" rel="noopener noreferrer nofollow">([^<]*)</a>'
)


def links(html: str) -> list[tuple[str, str]]:
    """Where the links of ``html`` lead, and what they say; each has what a written link has."""
    found = LINK.findall(str(html))
    assert len(found) == str(html).count("<a ")
    return [(str(Markup(href).unescape()), str(Markup(words).unescape())) for href, words in found]


@pytest.mark.parametrize(
    "text, address",
    [
        ("see https://a.example/x.", "https://a.example/x"),
        ("HTTPS://a.example", "HTTPS://a.example"),
        ("(https://a.example/wiki/Foo_(bar)).", "https://a.example/wiki/Foo_(bar)"),
        ("in https://a.example/x/__init__.py now", "https://a.example/x/__init__.py"),
        ("**https://a.example/c**", "https://a.example/c"),
        ("_https://a.example_", "https://a.example"),
        ("“https://a.example/c”", "https://a.example/c"),
        ("看https://a.example/c。", "https://a.example/c"),
        ("http://localhost:3000/x?y=1&z=*2*#top", "http://localhost:3000/x?y=1&z=*2*#top"),
        ("at http://127.0.0.1:8000!", "http://127.0.0.1:8000"),
    ],
)
def test_an_address_is_a_link_to_where_it_ends(text: str, address: str) -> None:
    """In rendered Markdown and in text as it was written; a sentence around it is no part of it."""
    assert links(render_markdown(text)) == [(address, address)]
    assert links(linked(text)) == [(address, address)]
    assert linked(text).striptags() == text


@pytest.mark.parametrize(
    "text",
    [
        "README.md example.com www.example.com a@b.example ftp://a.example //a.example",
        "javascript://a.example/%0aalert(1) data://x file:///etc/passwd mailto:a@b.example",
        "xhttps://a.example http: http:// https://! http:x",
        f"https://a.example/{'x' * MAX_ADDRESS}",
    ],
)
def test_nothing_else_is_a_link(text: str) -> None:
    """A file's name, a host, another scheme, the half of an address."""
    assert links(render_markdown(text)) == []
    assert linked(text) == text


@pytest.mark.parametrize(
    "text", ["`https://a.example`", "```\nhttps://a.example\n```", "    https://a.example"]
)
def test_an_address_in_code_is_code(text: str) -> None:
    """Code is what it is."""
    assert links(render_markdown(text)) == []


def test_an_address_in_a_links_words_is_no_link_of_its_own() -> None:
    """Links do not nest: the written one leads where it was meant to."""
    html = render_markdown("[https://a.example](https://b.example)")
    assert links(html) == [("https://b.example", "https://a.example")]


def test_a_name_in_other_letters_is_shown_as_it_was_written() -> None:
    """A host that looks like another one is not made to look like it."""
    text = "https://xn--80ak6aa92e.com/"
    assert links(render_markdown(text)) == [(text, text)]


def test_quotes_behind_an_address_reach_no_attribute() -> None:
    """Text as it was written is escaped, link or none."""
    html = linked("https://a.example/\"onclick=x <b> 'https://b.example/?a=1&b=2'")
    assert [href for href, _ in links(html)] == ["https://a.example/", "https://b.example/?a=1&b=2"]
    assert "<b>" not in html
    assert '"onclick' not in html


def test_an_address_that_was_cut_off_is_text() -> None:
    """It would lead elsewhere; one before it is a link."""
    assert links(linked("https://a.example https://b.example/x", goes_on=True)) == [
        ("https://a.example", "https://a.example")
    ]


@pytest.mark.parametrize("each", ["https://a.example ", "https://a.b/([", "https://! "])
def test_a_flood_of_addresses_is_asked_for_so_many(each: str) -> None:
    """Nothing of the text is lost; what is beyond the bound is text."""
    text = each * (2 * MAX_ADDRESSES)
    assert len(links(linked(text))) <= MAX_ADDRESSES
    assert linked(text).striptags() == text.strip()
    assert len(links(render_markdown(text))) <= MAX_ADDRESSES


def test_a_streamed_address_is_a_link() -> None:
    """In a block that is finished, and in the open one; its end comes with its last piece."""
    stream = StreamingMarkdown("x")
    for piece in ("see https://a.exa", "mple/one\n\nand htt", "ps://a.example/two"):
        stream.append(piece)
        stream.update()
    assert [href for href, _ in links(stream.html())] == [
        "https://a.example/one",
        "https://a.example/two",
    ]
