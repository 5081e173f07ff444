"""URLs: every link carries on what is the person's, and nothing of ours."""

from __future__ import annotations

from enso.urls import Urls, kept_parameters, thread_of


def test_other_query_parameters_stay_in_every_link() -> None:
    """What a person put into the page's URL stands in the links of the page, in its order."""
    urls = Urls(kept_parameters("http://x/threads/a?theme=dark&q=word&empty=&theme=2&shown=9"))
    assert urls.thread("b") == "/threads/b?theme=dark&empty=&theme=2"
    assert urls.fresh() == "/?theme=dark&empty=&theme=2"
    assert (
        urls.history("b", before="m1") == "/threads/b/history?theme=dark&empty=&theme=2&before=m1"
    )


def test_a_hostile_value_is_quoted() -> None:
    """A value that would end the attribute or begin another parameter is quoted."""
    urls = Urls((("a", '"><script>&b=1'),))
    assert urls.fresh() == "/?a=%22%3E%3Cscript%3E%26b%3D1"
    assert Urls().history("a.b", before="x&y#z") == "/threads/a.b/history?before=x%26y%23z"


def test_the_follow_of_a_page_names_the_message_it_begins_at() -> None:
    """A pane's websocket says where its page begins, so that a snapshot fits it."""
    assert Urls((("a", "1"),)).follow("t", first="m 1") == "/threads/t/follow?from=m+1"
    assert Urls().follow("t") == "/threads/t/follow"


def test_the_thread_of_a_page_is_read_from_its_path() -> None:
    """A page's URL names its thread, and the fresh page's none."""
    assert thread_of("http://127.0.0.1:7433/threads/a%2Eb?x=1") == "a.b"
    assert thread_of("http://127.0.0.1:7433/?x=/threads/a") == ""
    assert thread_of("") == ""
