"""The arguments of a tool call against the tool's schema: fitted where the meaning is plain.

Models send ``"42"`` for a number, one object for a list of one, and null for what they leave out.
Owns the fitting and the words of a refusal. Source of both: pi 1.6.0. Knows as much of JSON schema
as the tools here use: objects, arrays, strings, numbers and booleans.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard, cast

from enso.host.json_lines import plain

MAX_SHOWN: Final = 50_000
"""Characters of wrong arguments that a refusal repeats."""

_LARGEST: Final = 2**53 - 1  # the largest whole number that every JSON reader keeps exact
_NONE: Final = object()


class WrongArguments(Exception):
    """The arguments do not fit: ``str()`` tells the model what is wrong with which of them."""


def check_arguments(
    tool_name: str, parameters: Mapping[str, Any], arguments: object
) -> dict[str, Any]:
    """The arguments, fitted to the schema. Raises ``WrongArguments``.

    A property that the schema does not name is kept as it is.
    """
    problems: list[str] = []
    fitted = _fit(parameters, arguments, "", problems)
    if problems:
        listed = "\n".join(f"  - {problem}" for problem in problems)
        raise WrongArguments(
            f'Validation failed for tool "{tool_name}":\n{listed}\n\n'
            f"Received arguments:\n{_shown(arguments)}"
        )
    return cast("dict[str, Any]", fitted)


def _fit(schema: Mapping[str, Any], value: object, place: str, problems: list[str]) -> object:
    kind = str(schema["type"])
    value = _converted(kind, value)
    if not _is(kind, value):
        problems.append(f"{place or 'root'}: expected {kind}, got {_type_name(value)}")
        return value
    if kind == "object":
        return _fit_object(schema, cast("Mapping[str, object]", value), place, problems)
    if kind == "array":
        items = enumerate(cast("Sequence[object]", value))
        return [_fit(schema["items"], item, _join(place, str(at)), problems) for at, item in items]
    return value


def _fit_object(
    schema: Mapping[str, Any], value: Mapping[str, object], place: str, problems: list[str]
) -> dict[str, object]:
    required = cast("Sequence[str]", schema.get("required", ()))
    problems += [f"{_join(place, name)}: missing" for name in required if name not in value]
    fitted = dict(value)
    for name, property_schema in cast("Mapping[str, Any]", schema["properties"]).items():
        given = value.get(name, _NONE)
        if given is None and name not in required:
            del fitted[name]
        elif given is not _NONE:
            fitted[name] = _fit(property_schema, given, _join(place, name), problems)
    return fitted


def _converted(kind: str, value: object) -> object:
    if kind == "array":
        return cast("object", value) if isinstance(value, list) else [value]
    if kind == "number":
        return _as_number(value)
    if kind == "boolean":
        return _as_boolean(value)
    if kind == "string" and isinstance(value, bool):
        return str(value).lower()
    if kind == "string" and _is_number(value):
        return str(_whole(value))
    return value


def _as_number(value: object) -> object:
    if isinstance(value, str) and value.strip():
        try:
            value = float(value)
        except ValueError:
            return value
    return _whole(value) if _is_number(value) else value


def _as_boolean(value: object) -> object:
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    if isinstance(value, int | float) and value in {0, 1}:
        return bool(value)
    return value


def _whole(value: float) -> float:
    value = max(-_LARGEST, min(_LARGEST, value))
    return int(value) if value == int(value) else value


def _is(kind: str, value: object) -> bool:
    match kind:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case _:
            return _is_number(value)


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that JSON can hold; a whole one may be of any size."""
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _type_name(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "number that is not finite"
    names = ((type(None), "null"), (bool, "boolean"), (int, "integer"), (float, "number"))
    for kind, name in (*names, (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _shown(arguments: object) -> str:
    try:
        text = json.dumps(plain(arguments), indent=2, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "(no JSON)"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}\n(and more)"
