"""Commands and replies as JSON, the same module for both ends of the socket. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from controller.errors import UsageError
from controller.model.events import Command, Reply, Verb


def command_bytes(command: Command) -> bytes:
    """The body of a POST."""
    return json_bytes(
        {
            "verb": command.verb.value,
            "instances": list(command.instances),
            "gpu": command.gpu,
            "for_s": command.for_s,
            "reason": command.reason,
            "who": command.who,
        }
    )


def command_from(body: bytes) -> Command:
    """The command of a body; raises UsageError that names what is wrong."""
    fields = _object(body)
    if unknown := sorted(set(fields) - {"verb", "instances", "gpu", "for_s", "reason", "who"}):
        raise UsageError(f"a command has no key {unknown[0]}")
    return Command(
        verb=_verb(fields.get("verb")),
        instances=_names(fields.get("instances", [])),
        gpu=None if fields.get("gpu") is None else _text(fields, "gpu"),
        for_s=_seconds(fields.get("for_s")),
        reason=_text(fields, "reason"),
        who=_text(fields, "who"),
    )


def reply_document(reply: Reply) -> dict[str, Any]:
    """The reply as JSON."""
    return {"ok": reply.ok, "message": reply.message, "data": reply.data}


def reply_from(document: Mapping[str, Any]) -> Reply:
    """The reply of a document; one without a verdict was not taken."""
    data = document.get("data")
    return Reply(document.get("ok") is True, str(document.get("message", "")), data if isinstance(data, dict) else {})


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """ASCII JSON: text that no encoding can break, and no NaN, which is not JSON."""
    return json.dumps(document, allow_nan=False).encode()


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError("a command is a JSON object") from error
    if not isinstance(value, dict):
        raise UsageError("a command is a JSON object")
    return value


def _verb(value: object) -> Verb:
    known = [verb.value for verb in Verb]
    if value not in known:
        raise UsageError(f"verb: expected one of {', '.join(known)}")
    return Verb(value)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UsageError("instances: expected a list of names")
    return tuple(value)


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(float(str(value))) or float(str(value)) <= 0:
        raise UsageError("for_s: expected seconds above 0")
    return float(str(value))


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise UsageError(f"{key}: expected text")
    return value
