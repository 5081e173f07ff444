"""The base of every wire shape, and the default of a field that is not sent when it is empty."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """The base of every wire shape: closed, frozen, camelCase outside, snake_case inside."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
    )


def _is_none(value: object) -> bool:
    return value is None


def left_out() -> Any:
    """The default of a field that is not sent when there is nothing to say."""
    return Field(default=None, exclude_if=_is_none)
