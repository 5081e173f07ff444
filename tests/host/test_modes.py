"""A thread's mode is the last one that its branch names."""

from __future__ import annotations

from typing import Any

import pytest

from enso.host.modes import fresh_mode, stored_mode
from enso.host.permission_rules import MODES
from enso.transcript import TranscriptCustom, TranscriptMessage, TranscriptOther


def custom(custom_type: str, data: Any) -> TranscriptCustom:
    """State in the log."""
    return TranscriptCustom(id="e", custom_type=custom_type, data=data)


def test_a_fresh_thread_asks() -> None:
    """Four modes, each with its words; the fresh one asks."""
    fresh = fresh_mode()
    assert (fresh.mode, fresh.agent) == ("ask", None)
    assert [choice.id for choice in fresh.modes] == ["plan", "ask", "edit", "auto"]
    assert all(choice.label and "\n" not in choice.description for choice in MODES)


@pytest.mark.parametrize(
    "datas, mode",
    [
        ([], "ask"),
        ([{"mode": "plan"}], "plan"),
        ([{"mode": "plan"}, {"mode": "auto", "previous": "plan"}], "auto"),
        ([{"mode": "yolo"}], "yolo"),
        ([{"mode": "plan"}, {"mode": None}], "plan"),
        ([{"mode": "plan"}, {"mode": ""}, {}, None, 7, []], "plan"),
        ([{"mode": ["plan"]}], "ask"),
    ],
)
def test_the_last_named_mode_counts(datas: list[Any], mode: str) -> None:
    """Also one that this server does not know; an entry that names none changes nothing."""
    entries = [
        TranscriptMessage(id="m", role="user"),
        *(custom("modes", data) for data in datas),
        custom("something-else", {"mode": "auto"}),
        TranscriptOther(id="o", kind="modes"),
    ]
    assert stored_mode(entries).mode == mode


@pytest.mark.parametrize(
    "datas, agent",
    [
        ([], None),
        ([{"agent": "reviewer"}], "reviewer"),
        ([{"agent": "reviewer"}, {"agent": "builder"}], "builder"),
        ([{"agent": "reviewer"}, {"agent": None}], None),
        ([{"agent": "reviewer"}, {}], None),
        (["reviewer"], "reviewer"),
        ([7], None),
    ],
)
def test_the_last_agent_counts_also_when_it_is_none(datas: list[Any], agent: str | None) -> None:
    """A thread can be given back to no agent in particular."""
    assert stored_mode([custom("active_agent", data) for data in datas]).agent == agent
