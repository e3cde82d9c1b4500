"""The fields of a script as values from outside: each is checked by the same table, whether it comes as text or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from types import MappingProxyType
from typing import Any, Final

from controller.simulation.engine.script import ANSWERS, HEALTH, LOAD_PHASES, Change, Line, Script

FIELDS: Final[Mapping[str, Field[Any]]] = MappingProxyType({told.name: told for told in fields(Script)})
SCALARS: Final = tuple(name for name in FIELDS if name not in ("log", "changes"))
"""The fields that have a flag and a variable of their own."""

WORDS: Final = {"load_phase": LOAD_PHASES, "answers": ANSWERS, "health": HEALTH}
BOUNDS: Final = {
    "tps": (0.001, 1e6),
    "answer_tokens": (1, 1e6),
    "concurrency": (1, 4096),
    "requests": (0, 4096),
    "acceptance": (0, 1),
    "exit_code": (0, 255),
    "term_code": (0, 255),
}
MOST: Final = 1e9
"""Above what any number of a script may be, in seconds or MiB; what comes from outside is finite."""
_MOST_ENTRIES: Final = 10_000


class ConfigError(ValueError):
    """What an engine was told cannot be done; the text is one sentence for whoever told it."""


def kind(name: str) -> str:
    """The type of a field in one word: float, int, str, bool or tuple."""
    return str(FIELDS[name].type).partition("[")[0].split()[0]


def from_text(name: str, text: str) -> object:
    """The value of a scalar field out of a flag or a variable; raises ConfigError."""
    word = text.strip()
    try:
        match kind(name):
            case "bool":
                return ("0", "false", "1", "true").index(word.lower()) > 1
            case "float":
                return _bounded(name, float(word))
            case "int":
                return _bounded(name, int(word))
    except ConfigError:
        raise
    except ValueError:
        raise ConfigError(f"invalid {kind(name)} value: '{text}'") from None
    return _word(name, text)


def from_json(name: str, value: object) -> object:
    """The value of any field out of a JSON document; raises ConfigError."""
    if name not in FIELDS:
        raise ConfigError(f"there is no field {name}: there are {', '.join(sorted(FIELDS))}")
    if value is None and "None" in str(FIELDS[name].type):
        return None
    match kind(name), value:
        case "bool", bool():
            return value
        case _, bool():
            pass
        case "float", int() | float():
            return _bounded(name, float(value))
        case "int", int():
            return _bounded(name, value)
        case "str", str() | int() | float():
            return _word(name, str(value))
        case "tuple", list():
            return _changes(value) if name == "changes" else _lines(value)
    raise ConfigError(f"{name} is not of the kind {kind(name)}: {value!r:.60}")


def overlaid(script: Script, document: Mapping[str, object]) -> Script:
    """The script with the fields of a JSON object in place of its own; raises ConfigError."""
    return replace(script, **_values(document))


def _values(document: Mapping[str, object]) -> dict[str, Any]:
    return {name: from_json(name, value) for name, value in document.items()}


def _bounded(name: str, value: float) -> float:
    low, high = BOUNDS.get(name, (0, MOST))
    if not low <= value <= high:
        raise ConfigError(f"{name} is {value:g}, expected {low:g} to {high:g}")
    return value


def _word(name: str, text: str) -> str:
    words = WORDS.get(name)
    if words and text not in words:
        raise ConfigError(f"{name} is {text!r:.60}, expected one of {', '.join(words)}")
    return text


def _lines(value: Sequence[object]) -> tuple[Line, ...]:
    if len(value) > _MOST_ENTRIES:
        raise ConfigError(f"log has {len(value)} lines, at most {_MOST_ENTRIES} are kept")
    return tuple(_line(entry) for entry in value)


def _line(entry: object) -> Line:
    """A line as its text alone, or as an object with text, at_s and stderr."""
    match entry:
        case str():
            return Line(entry)
        case {"text": str(text), **more} if not more.keys() - {"at_s", "stderr"}:
            at_s, stderr = _moment(more.get("at_s", 0.0)), more.get("stderr", False)
            if at_s is not None and isinstance(stderr, bool):
                return Line(text, at_s, stderr)
    raise ConfigError(f"a line of log is a text or an object with text, at_s and stderr: {entry!r:.60}")


def _changes(value: Sequence[object]) -> tuple[Change, ...]:
    if len(value) > _MOST_ENTRIES:
        raise ConfigError(f"there are {len(value)} changes, at most {_MOST_ENTRIES} are kept")
    return tuple(_change(entry) for entry in value)


def _change(entry: object) -> Change:
    """A change as one object: at_s and the fields that have other values from then on."""
    told = dict(entry) if isinstance(entry, dict) else {}
    at_s = _moment(told.pop("at_s", None))
    if at_s is not None and "changes" not in told:
        return Change(at_s, _values(told))
    raise ConfigError(f"a change is an object with at_s and fields of a script: {entry!r:.60}")


def _moment(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MOST else None
