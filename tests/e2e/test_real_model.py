"""One tool turn with a real model, where its key is set: there is no test here without one.

    ENSO_TEST_MODEL=anthropic/… ANTHROPIC_API_KEY=… pytest tests/e2e/test_real_model.py

It costs a few cents at most, so that it is asked for by name; CI has no key.
"""

from __future__ import annotations

import os

from playwright.sync_api import Page, expect

from enso.host.runtimes.models.known_providers import KNOWN_PROVIDERS
from tests.e2e.conftest import Start
from tests.e2e.pages import EnsoPage
from tests.e2e.places import Place

MODEL = os.environ.get("ENSO_TEST_MODEL", "")
MINUTE = 60_000


def _keys() -> dict[str, str]:
    """The keys of the model's provider that are set."""
    known = KNOWN_PROVIDERS.get(MODEL.partition("/")[0])
    names = known.key_variables if known is not None else ()
    return {name: os.environ[name] for name in names if os.environ.get(name)}


if _keys():

    def test_a_real_model_reads_a_file_and_says_what_is_in_it(
        page: Page, place: Place, start: Start
    ) -> None:
        """It calls a tool, gets the result, and answers from it."""
        (place.project / "secret.txt").write_text("The word is quagga.\n")
        enso = EnsoPage(page, start(ENSO_MODEL=MODEL, **_keys()).url)
        enso.open_fresh()
        enso.prompt("Read secret.txt and tell me the word in it. Answer with the word alone.")
        expect(enso.replies.last).to_contain_text("quagga", timeout=2 * MINUTE)
        enso.expect_settled()
        results = place.file_of(enso.thread_id).messages("toolResult")
        assert any("quagga" in str(one["content"]) for one in results)
