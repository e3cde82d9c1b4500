"""The JSON schemas for editors: fresh, valid, and of one mind with the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.model.parameters import PARAMETERS
from controller.resolve.json_schema import SCHEMAS, schema_text

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_committed_copy_is_fresh(name: str) -> None:
    """Given the committed schema, when it is made anew, then nothing differs.

    To refresh it: `steward schema NAME > docs/schema/NAME.schema.json`.
    """
    assert (ROOT / "docs" / "schema" / f"{name}.schema.json").read_text() == schema_text(name)


def test_the_estates_keys_and_parameters_are_complete() -> None:
    """Given the estate's schema, when an editor reads it, then it knows every key and parameter, and no other."""
    schema = json.loads(schema_text("estate"))
    entry = schema["$defs"]["Entry"]
    assert {"name", "compose", "gpus", "port", "set", "env", "health"} <= set(entry["properties"])
    assert entry["additionalProperties"] is False
    assert sorted(entry["properties"]["set"]["properties"]) == sorted(PARAMETERS)
    length = entry["properties"]["set"]["properties"]["max_model_len"]
    assert length["anyOf"][0] == {"type": "integer", "minimum": 256, "maximum": 10_000_000}


def test_a_template_may_extend_and_leave_out() -> None:
    """Given the template's schema, when an editor reads it, then extends is known and nothing is required."""
    schema = json.loads(schema_text("compose"))
    assert schema["$defs"]["Service"]["properties"]["extends"]["required"] == ["file"]
    assert "required" not in schema
    assert "x-steward" in schema["properties"]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_reference_has_its_definition(name: str) -> None:
    """Given a schema, when its references are followed, then each leads to a definition."""
    schema = json.loads(schema_text(name))
    wanted = {reference.removeprefix("#/$defs/") for reference in _references(schema)}
    assert wanted <= set(schema["$defs"])
    assert wanted


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [reference for value in node.values() for reference in _references(value)]
    return [reference for value in node for reference in _references(value)] if isinstance(node, list) else []
