"""Words for problems: what was expected at a place, what stands there, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

from controller.model.document import Plain, scalar_text
from controller.model.shapes import Schema, Shape

_SHOWN: Final = 40
_NUMBER: Final = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
_YES_NO: Final = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}


def expected(shape: Shape) -> str:
    """What may stand here: `a whole number from 1 to 65535`."""
    numbers = shape.of_type("number")
    plain_first = sorted(shape.alternatives, key=lambda schema: schema.get("type") == "object")
    words = [_described(schema) for schema in plain_first if not (numbers and schema.get("type") == "integer")]
    return one_of(list(dict.fromkeys(words))) or "a value"


def found(value: Plain, written: str | None, *, hide: bool = False) -> str:
    """What stands there, short enough for one line; `hide` for what may be a secret."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"a text of {len(value)} characters" if hide else f'the text "{shortened(value)}"'
    if isinstance(value, bool):
        return written or scalar_text(value)
    if isinstance(value, int | float):
        return f"the number {written or scalar_text(value)}"
    if isinstance(value, list):
        return "an empty list" if not value else f"a list of {len(value)}"
    return f"a mapping with {quoted_keys(list(value))}" if value else "an empty mapping"


def hint(shape: Shape, value: Plain, written: str | None) -> str:
    """What to write instead, or nothing when there is no good guess."""
    text = written or (scalar_text(value) if isinstance(value, int | float) else "")
    if value is None:
        return "give it a value, or remove the key"
    if isinstance(value, str):
        return _for_text(shape, value)
    if isinstance(value, int | float):
        return _for_number(shape, value, text)
    if isinstance(value, dict) and shape.of_type("array"):
        return "begin each item of the list with `- `"
    return ""


def printed(value: Plain) -> str:
    """A scalar as a container would get it."""
    return "" if isinstance(value, list | dict) else scalar_text(value)


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant, as a question, or nothing."""
    close = closest(word, known)
    return f"did you mean `{close}`?" if close else ""


def closest(word: str, known: Sequence[str]) -> str | None:
    """The known word nearest to `word`, if any is near."""
    near = get_close_matches(word[:200].lower(), known, n=1, cutoff=0.6)
    return near[0] if near else None


def quoted_keys(keys: Sequence[str], most: int = 6) -> str:
    """`the keys a, b and 3 more`."""
    shown = ", ".join(f"`{shortened(key)}`" for key in keys[:most])
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return f"the {'key' if len(keys) == 1 else 'keys'} {shown}{more}"


def one_of(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}" if words else ""


def shortened(text: str) -> str:
    """Text for a message: one line, not long."""
    line = text.replace("\n", "\\n").replace("\r", "\\r")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _described(schema: Schema) -> str:
    if "const" in schema or "enum" in schema:
        return one_of([f"`{choice}`" for choice in _choices(schema)])
    kind = schema.get("type")
    if kind in ("integer", "number"):
        noun = "a whole number" if kind == "integer" else "a number"
        return str(schema.get("description") or f"{noun}{_bounds(schema)}")
    if kind == "string":
        return str(schema.get("description") or ("text" if not schema.get("minLength") else "text that is not empty"))
    if kind == "array":
        return {"string": "a list of texts", "integer": "a list of whole numbers"}.get(_item_type(schema), "a list")
    if kind == "object":
        return _mapping(schema)
    return "true or false" if kind == "boolean" else "a value"


def _bounds(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" of at least {low}" if low is not None else f" of at most {high}" if high is not None else ""


def _mapping(schema: Schema) -> str:
    keys = list(schema.get("required", ())) or list(schema.get("properties", ()))
    return f"a mapping with {quoted_keys(keys)}" if keys else "a mapping of names to values"


def _choices(schema: Schema) -> list[str]:
    return [str(choice) for choice in schema.get("enum", [schema.get("const")])]


def _item_type(schema: Schema) -> str:
    items: Any = schema.get("items")
    return str(items.get("type", "")) if isinstance(items, dict) else ""


def _for_text(shape: Shape, value: str) -> str:
    choices = [choice for schema in shape.of_type("string") if "enum" in schema for choice in _choices(schema)]
    if choices:
        return did_you_mean(value, choices)
    if shape.of_type("boolean") and value.lower() in _YES_NO:
        return f"write {_YES_NO[value.lower()]} without quotes"
    if (shape.of_type("integer") or shape.of_type("number")) and _NUMBER.fullmatch(value):
        plain = re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", value)
        return f"write {plain} without quotes" if plain == value else f"write {plain}, without leading zeros"
    if shape.of_type("array"):
        return f"write a list: [{shortened(value)}]"
    return ""


def _for_number(shape: Shape, value: float, text: str) -> str:
    for schema in shape.of_type("string"):
        if examples := schema.get("examples"):
            return f"write it with its unit, such as {one_of([str(example) for example in examples])}"
        if _allows(schema, text):
            return f'quote it: "{text}"'
    if shape.of_type("array"):
        return f"write a list: [{text}]"
    whole = str(int(value))
    return f"write {whole}" if shape.of_type("integer") and value == int(value) and whole != text else ""


def _allows(schema: Schema, text: str) -> bool:
    if "enum" in schema or "const" in schema:
        return text in _choices(schema)
    return "format" not in schema and re.search(str(schema.get("pattern", "")), text) is not None
