"""Pages go compressed, but never to who could learn from their length."""

from __future__ import annotations

import gzip

import pytest
from flask.testing import FlaskClient

from enso.server.compression import compressed

TAKES = {"Accept-Encoding": "br, gzip"}


@pytest.mark.parametrize(
    "site", [{}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin"}]
)
def test_pages_and_fragments_are_compressed(client: FlaskClient, site: dict[str, str]) -> None:
    """A page and a fragment of it are the same text, at most half as long, said in the headers."""
    for headers in ({}, {"HX-Request": "true", "HX-Target": "pane"}):
        page = client.get("/", headers={**headers, **TAKES, **site})
        assert page.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in page.headers["Vary"]
        assert int(page.headers["Content-Length"]) == len(page.data)
        text = gzip.decompress(page.data).decode()
        assert "data-composer" in text
        assert len(page.data) < len(text.encode()) / 2


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_a_request_that_another_site_made_is_answered_as_it_is(
    client: FlaskClient, site: str
) -> None:
    """Who can choose words of a request from elsewhere sees no compressed length."""
    page = client.get("/", headers={**TAKES, "Sec-Fetch-Site": site})
    assert page.status_code == 200
    assert "Content-Encoding" not in page.headers


def test_who_takes_no_compression_gets_none(client: FlaskClient) -> None:
    """A page is plain to a client that says nothing; JSON is plain to everyone."""
    assert "Content-Encoding" not in client.get("/").headers
    assert "Content-Encoding" not in client.get("/api/openapi.json", headers=TAKES).headers


def test_the_length_of_one_text_differs() -> None:
    """The same text compressed often has many lengths, and is the same text in each."""
    made = [compressed(b"<p>words</p>" * 200) for _ in range(64)]
    assert len({len(one) for one in made}) > 8
    assert {gzip.decompress(one) for one in made} == {b"<p>words</p>" * 200}
