"""Prompts in a browser: what streams in is what a reload shows, refused, drawn or plain."""

from __future__ import annotations

import base64
import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Shop
from tests.e2e.pages import EnsoPage
from tests.e2e.places import png
from tests.model_server import Gate, ModelServer, Reply, chop, refused

MARKDOWN = """# What I found

Two services matter, **orders** and *stock*; see `src/orders.py`.
A line that goes on,
and one more with a hard break.\\
After it.

1. First, the total:

   ```python
   def total(items):
       \"\"\"Forgets the quantity & more.\"\"\"
       return sum(item.price for item in items if item.price < 10)
   ```

2. Then a list in the list
   - one
   - two
     with a second line

> A quotation,
> of two lines.

| name | price |
|:-----|------:|
| tea  |  3.00 |
| *cup* | `4.50` |

A <b>tag</b> that is text, a [link](https://example.org/a?b=1&c=2), an auto https://example.org one.

```
no language
  two blanks   and three
```

---

Größe, 👩‍👩‍👧‍👦, and the end.
"""


def test_a_reply_streams_in_as_it_is_produced(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """The first words are there while the model still speaks; the file is there with them."""
    gate = Gate()
    model_server.script([Reply(text=["The first half, ", "still going"], gate=gate)])
    enso.open_fresh()
    enso.prompt("Speak slowly, please")
    expect(enso.replies).to_contain_text(["The first half, still going"])
    expect(enso.status).to_have_text(re.compile("Working · run 1"))
    thread_id = enso.thread_id
    enso.expect_sign(thread_id, "busy")
    enso.expect_thread(thread_id, "Speak slowly, please")
    assert len(shop.place.file_of(thread_id).messages("user")) == 1
    gate.open()
    enso.expect_settled()
    expect(enso.status).to_have_text(re.compile("Ready"))
    enso.expect_sign(thread_id, "held")
    (reply,) = shop.place.file_of(thread_id).messages("assistant")
    assert reply["content"] == [{"type": "text", "text": "The first half, still going"}]


@pytest.mark.parametrize("size", [1, 7, 400])
def test_what_streamed_is_what_a_reload_shows(
    enso: EnsoPage, model_server: ModelServer, size: int
) -> None:
    """A long markdown reply, in small or large pieces, looks while it streams as it does after."""
    gate = Gate()
    reply = Reply(thinking=["I *look* ", "around."], text=chop(MARKDOWN, size), gate=gate)
    model_server.script([reply])
    enso.open_fresh()
    enso.prompt("Explain it all")
    text = enso.replies.locator(".text").last
    expect(text).to_contain_text("and the end.")
    expect(enso.status).to_contain_text("Working")
    streaming = text.inner_text()
    gate.open()
    enso.expect_settled()
    assert text.inner_text() == streaming
    live = _drawn(enso)
    enso.page.reload()
    enso.sockets.wait_for_snapshot(opened=2)
    assert _drawn(enso) == live
    assert "return sum(item.price for item in items if item.price < 10)" in streaming
    assert "A <b>tag</b> that is text" in streaming
    expect(enso.replies.locator("h1, h2, h3, h4")).not_to_have_count(0)
    expect(enso.replies.locator("table td")).to_have_count(4)


def _drawn(enso: EnsoPage) -> tuple[list[str], list[str]]:
    """What a person sees of the messages, and the elements that it is made of."""
    return enso.log.locator("article").all_inner_texts(), enso.log.locator("article").evaluate_all(
        "(all) => all.map((one) => one.innerHTML.replace(/>\\s+</g, '><').trim())"
    )


@pytest.mark.parametrize("kind", ["401", "429", "502html"])
def test_a_refusal_is_the_same_live_and_after_a_reload(
    enso: EnsoPage, model_server: ModelServer, kind: str
) -> None:
    """The bubble names provider, model, class and status; row, status and next prompt follow it."""
    model_server.script([refused(kind)])
    enso.open_fresh()
    enso.prompt("You will be refused")
    bubble = enso.log.locator(".refusal")
    expect(bubble).to_have_text(
        re.compile(rf"^Lab server · lab-coder refused: [a-z ]+ \({kind[:3]}\) — \S.*[^>]$")
    )
    expect(enso.status).to_have_text(re.compile("Refused"))
    enso.expect_sign(enso.thread_id, "refused")
    live = enso.log.inner_text()
    enso.page.reload()
    enso.sockets.wait_for_snapshot(opened=2)
    assert enso.log.inner_text() == live
    enso.ask("Once more", replies=2)
    expect(enso.status).to_have_text(re.compile("Ready"))
    enso.expect_sign(enso.thread_id, "held")
    expect(bubble).to_have_count(1)


def test_a_stream_that_is_cut_keeps_what_came(enso: EnsoPage, model_server: ModelServer) -> None:
    """What had streamed before the connection broke stays, and is said to be cut."""
    model_server.script([Reply(text=["I will begin with ", "the order model"], cut=True)])
    enso.open_fresh()
    enso.prompt("Begin")
    expect(enso.log.locator(".refusal")).to_contain_text("Lab server · lab-coder refused:")
    expect(enso.replies.last).to_contain_text("I will begin with the order model")
    live = enso.log.inner_text()
    enso.page.reload()
    enso.sockets.wait_for_snapshot(opened=2)
    assert enso.log.inner_text() == live


def test_chosen_images_go_out_with_the_prompt_and_are_shown(
    enso: EnsoPage, shop: Shop, model_server: ModelServer
) -> None:
    """Two images reach the model and the file byte for byte, and stand in the thread ever after."""
    images = [png(200), png(90)]
    enso.open_fresh()
    enso.page.locator("input[data-files]").set_input_files(
        [
            {"name": f"{number}.png", "mimeType": "image/png", "buffer": image}
            for number, image in enumerate(images)
        ]
    )
    expect(enso.page.locator("[data-previews] img")).to_have_count(2)
    enso.ask("Which is brighter?")
    urls = [f"data:image/png;base64,{base64.b64encode(image).decode()}" for image in images]
    stored = shop.place.file_of(enso.thread_id).messages("user")[0]["content"]
    assert [part["data"] for part in stored if part["type"] == "image"] == [
        url.split(",")[1] for url in urls
    ]
    sent = model_server.requests()[-1].body["messages"][-1]["content"]
    assert [part["image_url"]["url"] for part in sent if part["type"] == "image_url"] == urls
    enso.page.reload()
    shown = enso.prompts.locator("img")
    expect(shown).to_have_count(2)
    assert [one.get_attribute("src") for one in shown.all()] == urls
    for one in shown.all():
        expect(one).to_have_js_property("naturalWidth", 2)


def test_three_enters_are_one_prompt(enso: EnsoPage, shop: Shop, model_server: ModelServer) -> None:
    """Who presses Enter again before the answer came has sent one prompt."""
    enso.open_fresh()
    made = len(model_server.requests())
    enso.text.fill("Only once")
    enso.text.evaluate("(box) => [1, 2, 3].forEach(() => box.form.requestSubmit())")
    expect(enso.replies).to_have_count(1)
    enso.expect_settled()
    enso.ask("And now another", replies=2)
    assert len(model_server.requests()) == made + 2
    assert len(shop.place.file_of(enso.thread_id).messages("user")) == 2
