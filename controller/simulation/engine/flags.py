"""Reads command lines: the flags of the simulated engine, and those of the engines whose place it takes.

Where it stands in for a real engine it takes from the flags what a client can see (address, names, sizes, key) and passes over
all others, whose effect is on memory and speed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from controller.simulation.engine.manners import MANNERS
from controller.simulation.engine.script_fields import SCALARS, ConfigError, kind

CONTEXT: Final = 8192
SLOTS: Final = 8


@dataclass(slots=True)
class Told:
    """What a command line says; `fields` are texts for fields of the script."""

    dialect: str
    host: str = "0.0.0.0"
    port: int = 8000
    model: str = ""
    names: tuple[str, ...] = ()
    context: int = 0
    pool: int = 0
    """Context of all slots together, where that is what a flag says."""
    slots: int = 0
    api_key: str | None = None
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Flag:
    """`takes`: one value, a list of them, or an optional true or false; a `scripted` target is a field of the script."""

    target: str
    convert: Callable[[str], Any] = str
    takes: str = "one"
    scripted: bool = False


def read(argv: Sequence[str], dialect: str) -> Told:
    """The command line of an engine of this dialect, unless `--dialect` says another; raises ConfigError."""
    told = Told(dialect)
    for _, flag, values in _walk(argv, {"--dialect": _DIALECT}):
        if flag:
            _take(told, "--dialect", flag, values)
    if told.dialect not in MANNERS:
        choices = ", ".join(sorted(MANNERS))
        raise ConfigError(f"argument --dialect: invalid choice: '{told.dialect}' (choose from {choices})")
    unknown = []
    for word, flag, values in _walk(argv, {**_FLAGS[told.dialect], **_SCRIPTED, "--dialect": _DIALECT}):
        if flag:
            _take(told, word, flag, values)
        else:
            unknown.append(word)
    if unknown and told.dialect == "simulated":
        raise ConfigError(f"unrecognized arguments: {' '.join(unknown)}")
    return _settled(told)


def _walk(argv: Sequence[str], table: Mapping[str, _Flag]) -> Iterator[tuple[str, _Flag | None, list[str]]]:
    """Every flag of the table with its values; a word that belongs to none comes with None."""
    words = deque(argv)
    while words:
        word = words.popleft()
        name, equals, value = word.partition("=")
        flag = table.get(name)
        if flag is None:
            yield word, None, []
        else:
            yield name, flag, [value] if equals else _values(flag, words)


def _values(flag: _Flag, words: deque[str]) -> list[str]:
    """The values that follow a flag, taken off the words."""
    values = []
    if flag.takes == "switch":
        return [words.popleft() if words and words[0].lower() in ("0", "1", "false", "true") else "true"]
    while words and (flag.takes == "one" or not words[0].startswith("-")):
        values.append(words.popleft())
        if flag.takes == "one":
            break
    return values


def _take(told: Told, name: str, flag: _Flag, values: list[str]) -> None:
    """Keep what a flag says."""
    if not values:
        raise ConfigError(f"argument {name}: expected {'one' if flag.takes == 'one' else 'at least one'} argument")
    if flag.scripted:
        told.fields[flag.target] = values[0]
        return
    try:
        setattr(told, flag.target, tuple(values) if flag.takes == "list" else flag.convert(values[0]))
    except ValueError:
        if told.dialect != "generic":  # whose flags are its own, whatever they are called
            raise ConfigError(f"argument {name}: invalid value: '{values[0]}'") from None


def _settled(told: Told) -> Told:
    """What was left open gets a value: the name of the model, sizes, each slot's share of a context for all."""
    if told.dialect == "llamacpp":  # names its model by the file
        told.model = told.model.rpartition("/")[2]
    told.names = told.names or (told.model or "simulated",)
    told.slots = told.slots or SLOTS
    told.context = told.context or max(told.pool // told.slots, 1 if told.pool else 0) or CONTEXT
    return told


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError(text)
    return port


def _size(text: str) -> int:
    """A number of tokens or requests; 0 where the engine is asked to choose."""
    return 0 if text == "auto" else max(int(text), 0)


def _aliases(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_DIALECT: Final = _Flag("dialect")
_MODEL: Final = _Flag("model")
_NAMES: Final = _Flag("names", takes="list")
_ALIASES: Final = _Flag("names", _aliases)
_CONTEXT: Final = _Flag("context", _size)
_POOL: Final = _Flag("pool", _size)
_SLOTS: Final = _Flag("slots", _size)
_ADDRESS: Final = {"--host": _Flag("host"), "--port": _Flag("port", _port)}
_OWN: Final = {
    **_ADDRESS,
    "--model": _MODEL,
    "--served-model-name": _NAMES,
    "--max-model-len": _CONTEXT,
    "--max-num-seqs": _SLOTS,
    "--api-key": _Flag("api_key"),
}
_LLAMACPP: Final = {
    **_OWN,
    **dict.fromkeys(("-m", "--model"), _MODEL),
    **dict.fromkeys(("-a", "--alias"), _ALIASES),
    **dict.fromkeys(("-c", "--ctx-size"), _POOL),
    **dict.fromkeys(("-np", "--parallel"), _SLOTS),
}
_SGLANG: Final = {**_OWN, "--model-path": _MODEL, "--context-length": _CONTEXT, "--max-running-requests": _SLOTS}
_FLAGS: Final[Mapping[str, Mapping[str, _Flag]]] = {
    "simulated": _OWN,
    "generic": _ADDRESS,
    "vllm": _OWN,
    "llamacpp": _LLAMACPP,
    "sglang": _SGLANG,
}
_SCRIPTED: Final = {
    f"--sim-{name.replace('_', '-')}": _Flag(name, takes="switch" if kind(name) == "bool" else "one", scripted=True)
    for name in SCALARS
}
