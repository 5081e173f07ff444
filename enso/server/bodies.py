"""What a request carries, as a wire shape: JSON from programs, form fields from pages."""

from __future__ import annotations

from typing import Any, TypeVar

from flask import request
from pydantic import BaseModel, ValidationError

from enso.server.refusals import Refused

Shape = TypeVar("Shape", bound=BaseModel)


def json_body(shape: type[Shape]) -> Shape:
    """The JSON body; raises ``Refused`` 415 or 400, naming the field that is wrong."""
    if request.mimetype != "application/json":
        raise Refused(415, "unsupported-media-type", "Send this as application/json.")
    return _checked(lambda: shape.model_validate_json(request.get_data() or b"{}"))


def form_body(shape: type[Shape]) -> Shape:
    """The form's fields of the shape's names; a field that is not there is left to it.

    So is an empty one, but where the shape must have it: there empty is what was said.
    """
    infos = {info.alias or name: info for name, info in shape.model_fields.items()}
    fields: dict[str, Any] = {
        name: value
        for name, value in request.form.items()
        if name in infos and (value or infos[name].is_required())
    }
    return _checked(lambda: shape.model_validate(fields))


def _checked(parse: Any) -> Any:
    try:
        return parse()
    except ValidationError as invalid:
        raise Refused(400, "invalid-body", first_fault(invalid)) from None


def first_fault(invalid: ValidationError) -> str:
    """The first thing that is wrong, with the place where it is."""
    fault = invalid.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(step) for step in fault["loc"]) or "the body"
    return f"{where}: {fault['msg']}."
