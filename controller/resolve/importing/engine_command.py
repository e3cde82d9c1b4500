"""What a Compose service starts: which engine, and the arguments that it is given, also through a shell."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from controller.dialects.flag_groups import Word
from controller.model.document import Document, Plain, scalar_text
from controller.model.problem import DocPath, Place
from controller.model.profile import DialectName
from controller.resolve.importing.drafting import Ledger

_PROGRAMS: Final[Sequence[tuple[DialectName, tuple[str, ...]]]] = (
    (DialectName.VLLM, ("vllm", "serve")),
    (DialectName.VLLM, ("-m", "vllm.entrypoints.openai.api_server")),
    (DialectName.VLLM, ("-m", "vllm.entrypoints.cli.main", "serve")),
    (DialectName.LLAMACPP, ("llama-server",)),
    (DialectName.SGLANG, ("-m", "sglang.launch_server")),
    (DialectName.SGLANG, ("sglang", "serve")),
)
"""The words that start each engine."""
_IMAGES: Final = (
    (DialectName.VLLM, re.compile(r"vllm")),
    (DialectName.SGLANG, re.compile(r"sglang")),
    (DialectName.LLAMACPP, re.compile(r"llama[._-]?cpp|llama-server")),
)
_SHELLS: Final = frozenset({"sh", "bash", "dash"})
_SCRIPT: Final = re.compile(r"-[a-z]*c")
_SEPARATOR: Final = re.compile(r"[;&|<>()]+")
_SHOWN: Final = 100
_IDLE: Final = frozenset({"exec", "set", "-e", "-eu", "-ex", "-euo", "pipefail", "-o", "python3", "python"})
"""Words before an engine's start that do nothing of their own."""


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """The engine and what it is told."""

    dialect: DialectName
    words: tuple[Word, ...]


def engine_of(document: Document, at: DocPath, service: dict[str, Plain], ledger: Ledger) -> EngineCommand | None:
    """What the service starts; None where that is no engine that Steward speaks to."""
    entrypoint, command = (tuple(_words(document, (*at, key), service.get(key))) for key in ("entrypoint", "command"))
    words = (*entrypoint, *command)
    if (script := _script_in(words)) is not None:
        words = tuple(_script_words(script, ledger))
    found = _program(words)
    if found is not None:
        dialect, begin, end = found
        _tell_of_steps(words[:begin], ledger)
        return EngineCommand(dialect, tuple(_until_separator(words[end:], ledger)))
    image = str(service.get("image", ""))
    by_image = next((dialect for dialect, name in _IMAGES if name.search(image.lower())), None)
    if by_image is None or script is not None:
        return None
    if entrypoint:
        ledger.lost(entrypoint[0].place, f"the entrypoint {entrypoint[0].text} is not known", "a template can have it")
    plain = command[1:] if by_image is DialectName.VLLM and command and command[0].text == "serve" else command
    return EngineCommand(by_image, plain)


def _words(document: Document, path: DocPath, value: Plain) -> Iterator[Word]:
    place = document.place(path)
    if isinstance(value, list):
        for position, item in enumerate(value):
            if not isinstance(item, list | dict):
                yield Word(scalar_text(item), document.place((*path, position)))
    elif isinstance(value, str):
        yield from (Word(text, place) for text in _split(value))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\\\n", " "))
    except ValueError:
        return text.split()


def _script_in(words: Sequence[Word]) -> Word | None:
    """The text that a shell is given to carry out."""
    for position in range(len(words) - 2):
        shell, flag = words[position], words[position + 1]
        if posixpath.basename(shell.text) in _SHELLS and _SCRIPT.fullmatch(flag.text):
            return words[position + 2]
    return None


def _script_words(script: Word, ledger: Ledger) -> Iterator[Word]:
    lexer = shlex.shlex(script.text.replace("\\\n", " "), posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    try:
        yield from (Word(text, script.place) for text in lexer)
    except ValueError:
        ledger.lost(script.place, "the shell script cannot be read: a quote is not closed")


def _program(words: Sequence[Word]) -> tuple[DialectName, int, int] | None:
    """The engine, where its words begin, and where its arguments do."""
    texts = [posixpath.basename(word.text) for word in words]
    for dialect, program in _PROGRAMS:
        for begin in range(len(texts)):
            end = begin + len(program)
            if tuple(texts[begin:end]) == program:
                return dialect, begin, end
    return None


def _until_separator(words: Sequence[Word], ledger: Ledger) -> Iterator[Word]:
    for position, word in enumerate(words):
        if _SEPARATOR.fullmatch(word.text):
            _tell_of_steps(words[position + 1 :], ledger)
            return
        yield word


def _tell_of_steps(words: Sequence[Word], ledger: Ledger) -> None:
    """What a script does besides starting the engine."""
    others = [word for word in words if word.text not in _IDLE and not _SEPARATOR.fullmatch(word.text)]
    if others:
        place: Place = others[0].place
        text = " ".join(word.text for word in others)
        hint = "an overlay can have steps before the engine's start"
        ledger.lost(place, f"what the container does besides: {text[:_SHOWN]}", hint)
