"""What a model allows at each place of a document, read from its JSON schema: the same facts that editors get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

from pydantic import BaseModel

Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """The alternatives that a place may hold, without null."""

    alternatives: tuple[Schema, ...]
    definitions: Schema

    def below(self, part: str | int) -> Shape | None:
        """What may stand under a key or in a list; None when nothing may."""
        for schema in self.alternatives:
            if (inner := _inner(schema, part)) is not None:
                return Shape(tuple(_flat(inner, self.definitions)), self.definitions)
        return None

    @property
    def is_union(self) -> bool:
        """Whether the validator had to choose; its error locations then name the choice."""
        return len(self.alternatives) > 1

    @property
    def mapping(self) -> Schema | None:
        """The alternative with named keys."""
        return next((schema for schema in self.alternatives if "properties" in schema), None)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that may be written, in the model's order."""
        schema = self.mapping
        return tuple(schema["properties"]) if schema else ()

    @property
    def title(self) -> str:
        """The name of the model."""
        return str((self.mapping or {}).get("title", ""))

    def of_type(self, name: str) -> tuple[Schema, ...]:
        """The alternatives of one JSON type."""
        return tuple(schema for schema in self.alternatives if schema.get("type") == name)


@cache
def shape_of(model: type[BaseModel]) -> Shape:
    """The shape of a whole document."""
    schema = model.model_json_schema()
    definitions = cast("Schema", schema.get("$defs", {}))
    return Shape(tuple(_flat(schema, definitions)), definitions)


def _flat(schema: Schema, definitions: Schema) -> Iterator[Schema]:
    if "$ref" in schema:
        yield from _flat(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    elif "anyOf" in schema:
        for member in schema["anyOf"]:
            yield from _flat(member, definitions)
    elif schema.get("type") != "null":
        yield schema


def _inner(schema: Schema, part: str | int) -> Schema | None:
    if isinstance(part, int):
        return cast("Schema | None", schema.get("items"))
    if part in schema.get("properties", {}):
        return cast("Schema", schema["properties"][part])
    rest = schema.get("additionalProperties")
    if rest is True:
        return {}
    return rest or None
