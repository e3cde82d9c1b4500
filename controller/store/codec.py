"""How values become columns and come back: explicit JSON for what has parts, checked when it is read.

Each decoder raises ValueError, KeyError or TypeError for anything that its encoder did not write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from controller.model.fields import SecretRef
from controller.model.profile import DialectName
from controller.model.resolved import Readiness, Serving

_KNOWN: Final = 4096
"""Specs whose decoded form is kept: the memory is read again after each action, and specs hardly ever change."""


def clean(text: str) -> str:
    """The text as UTF-8 can carry it: what some program printed may hold surrogates, which no column takes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def encode_texts(texts: Sequence[str]) -> str:
    """A JSON list of strings."""
    return json.dumps([clean(text) for text in texts], ensure_ascii=False)


def decode_texts(column: str) -> tuple[str, ...]:
    """The strings of a JSON list."""
    return tuple(_text(item) for item in _list(json.loads(column)))


def encode_fields(fields: Mapping[str, str]) -> str:
    """A JSON object of strings, keys in order."""
    return json.dumps({clean(key): clean(fields[key]) for key in sorted(fields)}, ensure_ascii=False)


@lru_cache(_KNOWN)
def decode_fields(column: str) -> Mapping[str, str]:
    """The strings of a JSON object, not to be changed."""
    return MappingProxyType({key: _text(value) for key, value in _object(json.loads(column)).items()})


def encode_serving(serving: Serving) -> str:
    """A JSON object; a secret goes in by name only."""
    return json.dumps(
        {
            "dialect": serving.dialect.value,
            "port": serving.port,
            "bind": clean(serving.bind),
            "served_names": [clean(name) for name in serving.served_names],
            "readiness": {"kind": serving.readiness.kind, "path": clean(serving.readiness.path)},
            "api_key": serving.api_key.secret if serving.api_key else None,
        },
        ensure_ascii=False,
    )


@lru_cache(_KNOWN)
def decode_serving(column: str) -> Serving:
    """The value that `encode_serving` wrote."""
    found = _object(json.loads(column))
    readiness, api_key = _object(found["readiness"]), found["api_key"]
    return Serving(
        dialect=DialectName(_text(found["dialect"])),
        port=_whole(found["port"]),
        bind=_text(found["bind"]),
        served_names=tuple(_text(name) for name in _list(found["served_names"])),
        readiness=Readiness(_text(readiness["kind"]), _text(readiness["path"])),
        api_key=None if api_key is None else SecretRef(secret=_text(api_key)),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected a whole number, found {type(value).__name__}")
    return value


def _list(value: Any) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value


def _object(value: Any) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {type(value).__name__}")
    return value
