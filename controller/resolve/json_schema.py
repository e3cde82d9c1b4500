"""The JSON schemas of the files that people write, for completion and checks in their editors.

They are looser than Steward in one way: what depends on another file (which parameters a template opens) is not in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel

from controller.model.compose import ComposeFile
from controller.model.desired import EstateFile
from controller.model.parameters import PARAMETERS, Kind, Parameter

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final[dict[Kind, dict[str, Any]]] = {
    Kind.INTEGER: {"type": "integer"},
    Kind.NUMBER: {"type": "number"},
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.SHARES: {"type": "array", "items": {"type": "number", "minimum": 0}},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.SECRET: {"$ref": "#/$defs/SecretRef"},
}


def schema_text(document: str) -> str:
    """The schema of `estate` or `compose` as stable text."""
    return json.dumps(SCHEMAS[document](), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def estate_schema() -> dict[str, Any]:
    """Files below `desired/`."""
    schema = _schema(EstateFile, "Steward estate")
    entry = schema["$defs"]["Entry"]["properties"]
    entry["set"] = {
        "type": "object",
        "description": "Parameters; null removes the template's default.",
        "properties": {name: _parameter(row) for name, row in PARAMETERS.items()},
        "additionalProperties": False,
    }
    return schema


def compose_schema() -> dict[str, Any]:
    """Files below `composes/`; a template that extends another may leave out what the other has."""
    schema = _schema(ComposeFile, "Steward compose template")
    service = schema["$defs"]["Service"]["properties"]
    service["extends"] = {
        "type": "object",
        "description": "Another template of the catalogue, upon which this one is put; file is relative to this file.",
        "properties": {"file": {"type": "string"}, "service": {"const": "engine"}},
        "required": ["file"],
        "additionalProperties": False,
    }
    parameters = schema["$defs"]["XSteward"]["properties"]["parameters"]
    parameters["propertyNames"] = {"enum": sorted(PARAMETERS)}
    schema["$defs"]["XSteward"].pop("required", None)
    schema.pop("required", None)
    schema["patternProperties"] = {"^x-": True}
    return schema


SCHEMAS: Final[dict[str, Callable[[], dict[str, Any]]]] = {"estate": estate_schema, "compose": compose_schema}
"""By the name that `steward schema` takes."""


def _schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True)
    return {"$schema": _DIALECT, **schema, "title": title}


def _parameter(row: Parameter) -> dict[str, Any]:
    about = f"{row.about} For {', '.join(sorted(row.dialects))}."
    kind = dict(_TYPES.get(row.kind, {"type": "string"}))
    if row.choices:
        kind["enum"] = list(row.choices)
    if row.low is not None:
        kind["minimum"] = row.low
    if row.high is not None:
        kind["maximum"] = row.high
    return {"description": about, "anyOf": [kind, {"type": "null"}]}
