"""Dataclasses as models of what a user writes: a field that is added to one is a key of the file, with its type and bounds.

A field of seconds (`load_s`) is the key without its suffix (`load`) and takes a duration text; a moment (`at_s`) is `after`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import GenericAlias, NoneType
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from controller.model.fields import AsTuple, Document, parse_duration
from controller.model.wording import one_of
from controller.simulation.engine.script_fields import BOUNDS, MOST, WORDS

T = TypeVar("T")

_MOMENT: Final = "at_s"
_SECONDS: Final = "_s"
_EXAMPLES: Final = ("250ms", "5s", "10m")
_DURATION: Final = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(le=MOST),
    WithJsonSchema({"type": "string", "examples": list(_EXAMPLES), "description": f"a duration such as {one_of(_EXAMPLES)}"}),
]
_NUMBERS: Final = {int: "a whole number", float: "a number"}


def key_of(name: str) -> str:
    """The key of a field."""
    return "after" if name == _MOMENT else name.removesuffix(_SECONDS)


@dataclass(frozen=True, slots=True)
class Mirror(Generic[T]):
    """A model and the way from it to the value: `build` gets the fields that were written, by their names in the dataclass."""

    model: type[Document]
    names: tuple[str, ...]
    build: Callable[[dict[str, Any]], T]
    nested: Mapping[str, Mirror[Any]] = field(default_factory=dict)

    def made(self, written: Document) -> T:
        """What was written, as the value."""
        return self.build(self.told(written))

    def told(self, written: Document) -> dict[str, Any]:
        """The fields that were written, by their names in the dataclass."""
        told = [name for name in self.names if key_of(name) in written.model_fields_set]
        return {name: self._value(name, getattr(written, key_of(name))) for name in told}

    def _value(self, name: str, value: Any) -> Any:
        inner = self.nested.get(name)
        if inner is None or value is None:
            return value
        return tuple(inner.made(entry) for entry in value) if isinstance(value, tuple) else inner.made(value)


def mirror(
    title: str,
    hints: Mapping[str, Any],
    build: Callable[[dict[str, Any]], T],
    *,
    needs: tuple[str, ...] = (),
    nested: Mapping[str, Mirror[Any]] | None = None,
    own: Mapping[str, Any] | None = None,
) -> Mirror[T]:
    """The mirror of fields with these types: all are optional but `needs`; `own` are types of single fields."""
    inner, special = dict(nested or {}), dict(own or {})
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        kind = special.get(name) or (_nested(hint, inner[name]) if name in inner else _plain(name, hint))
        fields[key_of(name)] = (kind, ... if name in needs else None)
    return Mirror(create_model(title, __base__=Document, **fields), tuple(hints), build, inner)


def listed(inner: Mirror[Any]) -> Any:
    """The type of a list of them."""
    return Annotated[GenericAlias(tuple, (inner.model, ...)), AsTuple]


def named(inner: Mirror[Any]) -> Any:
    """The type of a mapping of names to them."""
    return GenericAlias(dict, (str, inner.model))


def _nested(hint: Any, inner: Mirror[Any]) -> Any:
    inside = _without_none(hint)
    kind = listed(inner) if get_origin(inside) is tuple else inner.model
    return kind if inside == hint else kind | None


def _plain(name: str, hint: Any) -> Any:
    inside = _without_none(hint)
    kind = inside
    if name in WORDS:
        kind = Literal[WORDS[name]]
    elif name.endswith(_SECONDS):
        kind = _DURATION
    elif inside in _NUMBERS:
        low, high = BOUNDS.get(name, (0, MOST))
        kind = Annotated[inside, Field(ge=low, le=high, description=f"{_NUMBERS[inside]} {_span(low, high)}")]
    return kind if inside == hint else kind | None


def _span(low: float, high: float) -> str:
    """Bounds in words; one so high that nobody meets it is left out."""
    return f"of at least {low}" if high == MOST else f"from {low} to {high:.0f}"


def _without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if NoneType in get_args(hint) else hint
