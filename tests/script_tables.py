"""The tables of `docs/simulation.md`: every key of the `simulation:` block, from the dataclasses that the keys become."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any, Final

from controller.model import wording
from controller.model.fields import duration_text
from controller.model.shapes import shape_of
from controller.simulation.card_changes import CardChange
from controller.simulation.engine.script import Script
from controller.simulation.mirror import Mirror, key_of
from controller.simulation.script_file import CARD, ENGINE

HEADS: Final = ("key", "value", "else", "what it does")
VALUES: Final = {"log": "a list", "changes": "a list", "foreign": "a mapping", "order": "a list of whole numbers"}
ALWAYS: Final = {"after": "required"}


def script_rows() -> Iterator[tuple[str, ...]]:
    """One row a key of an engine."""
    return rows(Script, ENGINE)


def card_rows() -> Iterator[tuple[str, ...]]:
    """One row a key of a change of the cards."""
    return rows(CardChange, CARD)


def rows(kind: type, mirror: Mirror[Any]) -> Iterator[tuple[str, ...]]:
    """Key, what may stand there, what holds without it, and the field's own words."""
    told = docstrings(kind)
    for field in fields(kind):
        key = key_of(field.name)
        below = shape_of(mirror.model).below(key)
        value = VALUES.get(key) or (wording.expected(below).partition(" such as ")[0] if below else "")
        yield f"`{key}`", value, ALWAYS.get(key) or default(field.name, field.default), in_keys(told[field.name])


def docstrings(kind: type) -> dict[str, str]:
    """The text under each field of a dataclass, which every field must have."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for before, node in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(node, ast.Expr):
            found[before.target.id] = str(ast.literal_eval(node.value))
    return found


def default(name: str, value: object) -> str:
    """A default as one would write it; a dash where it is to leave the key away."""
    if value in (None, MISSING):
        return "–"
    if value in ("", ()):
        return '""' if value == "" else "[]"
    if isinstance(value, bool):
        return str(value).lower()
    return duration_text(float(str(value))) if name.endswith("_s") else f"{value:g}" if isinstance(value, float) else str(value)


def in_keys(text: str) -> str:
    """A developer's sentence with the names and values of the file."""
    return re.sub(r"\bNone\b", "null", re.sub(r"`(\w+)_s`", r"`\1`", " ".join(text.split())))
