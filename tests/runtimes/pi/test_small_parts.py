"""The queue's items, the catalogue, and the check of the model: what each makes of pi's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from enso.host.contract import ModelInUse, PromptRefused, QueueChanged
from enso.host.runtimes.pi.catalogue import Catalogue
from enso.host.runtimes.pi.pi_queue import PiQueue
from enso.host.runtimes.pi.starting import require_model

SHOP = Path("/shop")
CODER = ModelInUse(provider="lab", model="coder", label="Coder")


def test_a_queued_message_keeps_its_words_whatever_pi_expanded_them_to() -> None:
    """The text that comes just after it was sent is its; it is found again by that text."""
    told: list[QueueChanged] = []
    queue = PiQueue(told.append)
    waiting = queue.sending("/review orders", (), "steer")
    assert queue.items == ()
    queue.update({"steering": ["Review the orders closely."], "followUp": []})
    assert queue.items == (waiting.item,)
    second = queue.sending("then stop", (), "after")
    queue.update({"steering": ["Review the orders closely."], "followUp": ["then stop"]})
    assert queue.items == (waiting.item, second.item)
    queue.update({"steering": [], "followUp": ["then stop"]})
    assert told[-1] == QueueChanged((second.item,))


def test_what_an_extension_queued_waits_too() -> None:
    """Under its own text."""
    queue = PiQueue(lambda _: None)
    queue.update({"steering": [], "followUp": ["by itself"]})
    assert [(item.message, item.when) for item in queue.items] == [("by itself", "after")]
    queue.clear()
    assert queue.items == ()


def test_a_message_that_pi_handled_at_once_waits_no_more() -> None:
    """It was never in the queue."""
    queue = PiQueue(lambda _: None)
    queue.not_sent(queue.sending("/command", (), "steer"))
    queue.update({"steering": ["another"], "followUp": []})
    assert [item.message for item in queue.items] == ["another"]


def test_the_models_levels_are_pis() -> None:
    """None but off without thinking; the extreme ones only where they are mapped."""
    catalogue = Catalogue()
    assert catalogue.models is None
    catalogue.take_models(
        {
            "models": [
                {"provider": "lab", "id": "plain", "reasoning": False, "contextWindow": 8000},
                {
                    "provider": "lab",
                    "id": "deep",
                    "name": "Deep",
                    "reasoning": True,
                    "thinkingLevelMap": {"minimal": None, "xhigh": "max"},
                },
            ]
        }
    )
    plain, deep = catalogue.models or ()
    assert (plain.label, plain.levels, plain.context_window) == ("plain", ("off",), 8000)
    assert (deep.label, deep.levels) == ("Deep", ("off", "low", "medium", "high", "xhigh"))


def test_commands_are_ensos_and_pis_without_what_enso_sends_itself() -> None:
    """An extension's command is one that pi runs without a model."""
    catalogue = Catalogue()
    assert catalogue.commands(SHOP) is None
    catalogue.take_commands(
        SHOP,
        {
            "commands": [
                {"name": "deploy", "description": "Deploy", "source": "extension"},
                {"name": "review", "description": "Review", "source": "prompt"},
                {"name": "skill:pdf", "description": "PDF", "source": "skill"},
                {"name": "enso-go-to", "source": "extension"},
            ]
        },
    )
    sources = {command.name: command.source for command in catalogue.commands(SHOP) or ()}
    assert sources["deploy"] == "extension"
    assert sources["skill:pdf"] == "skill"
    assert sources["compact"] == "enso"
    assert "enso-go-to" not in sources
    assert catalogue.runs(SHOP, "/deploy now")
    assert catalogue.runs(SHOP, "/enso-go-to x")
    assert not catalogue.runs(SHOP, "/review it")
    assert not catalogue.runs(SHOP, "deploy")


def test_another_model_than_the_threads_is_refused_by_both_names() -> None:
    """And why, as far as pi says."""
    require_model(("lab", "coder"), CODER, [], [])
    require_model(None, CODER, [], [])
    said = ["Warning: could not restore lab/gone (no auth configured)"]
    with pytest.raises(PromptRefused, match=r"lab/gone.*lab/coder.*could not restore") as refused:
        require_model(("lab", "gone"), CODER, [], said)
    assert refused.value.code == "other-model"
    with pytest.raises(PromptRefused, match="no model to use"):
        require_model(("lab", "gone"), None, [], [])
