"""The check of one value against its parameter: nothing is converted, so `"8192"`, `8192.0` and `yes` are told what to be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from controller.model.fields import SecretRef
from controller.model.parameter import Checked, Kind, Parameter, Rejected

MAX_TEXT: Final = 1024
MAX_ITEMS: Final = 256
_SHOWN: Final = 60
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+:/-]{0,127}")
_DIGITS: Final = re.compile(r"[0-9][0-9_,]*")
_THOUSANDS: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKmM])i?")
_FLAG_AND_VALUE: Final = re.compile(r"-[^\s=]*\s")


def checked(parameter: Parameter, value: object) -> Checked | Rejected:
    """The value in its argv form, or what is wrong with it."""
    return _CHECKS[parameter.kind](parameter, value)


def found_text(value: object) -> str:
    """What a file has in place of the expected value, short and on one line."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        shown = repr(value)
        return f"the text {shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + '...'}"
    return "a map" if isinstance(value, Mapping) else "a list" if isinstance(value, Sequence) else "another kind of value"


def _rejected(parameter: Parameter, value: object, hint: str = "") -> Rejected:
    if value is None and not hint:
        hint = "remove the line to have the template's default"
    return Rejected(parameter.expected, found_text(value), hint)


def _integer(parameter: Parameter, value: object) -> Checked | Rejected:
    if isinstance(value, bool) or not isinstance(value, int):
        return _rejected(parameter, value, _integer_hint(value))
    return _bounded(parameter, value)


def _integer_hint(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    if not isinstance(value, str):
        return ""
    if match := _THOUSANDS.fullmatch(value.strip()):
        return f"write the number itself, such as {round(float(match[1]) * 1024 ** (1 + 'km'.index(match[2].lower())))}"
    if value.isdecimal() and (plain := value.lstrip("0")) != value:
        return f"write {plain or 0}, without leading zeros"
    return "remove the quotes" if value.isdecimal() else "write digits alone" if _DIGITS.fullmatch(value) else ""


def _number(parameter: Parameter, value: object) -> Checked | Rejected:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return _rejected(parameter, value, "write it without quotes, such as 0.9" if isinstance(value, str) else "")
    return _bounded(parameter, float(value))


def _bounded(parameter: Parameter, value: int | float) -> Checked | Rejected:
    low, high = parameter.low, parameter.high
    if (low is None or value >= low) and (high is None or value <= high):
        return Checked(value)
    share = parameter.kind is Kind.NUMBER and high is not None and high < 1 < value <= 100
    return _rejected(parameter, value, f"write {value / 100:g} for {value:g} %" if share else "")


def _boolean(parameter: Parameter, value: object) -> Checked | Rejected:
    if isinstance(value, bool):
        return Checked(value)
    return _rejected(parameter, value, "yes, no, on, off and quotes make it a text" if isinstance(value, str) else "")


def _choice(parameter: Parameter, value: object) -> Checked | Rejected:
    if isinstance(value, str) and value in parameter.choices:
        return Checked(value)
    switch = "on" if value is True else "off"
    return _rejected(parameter, value, f"write {switch}" if isinstance(value, bool) and switch in parameter.choices else "")


def _text(parameter: Parameter, value: object) -> Checked | Rejected:
    """A text that can stand in an argv; llama.cpp gets all served names in one, joined by commas."""
    fault = _text_fault(value)
    if fault is None and isinstance(value, str):
        if value.startswith("-"):
            fault = "an engine would take it for a flag: begin with a letter or a digit"
        elif "," in value:
            fault = "a comma would make it two names"
        else:
            return Checked(value)
    return _rejected(parameter, value, fault or "")


def _text_fault(value: object) -> str | None:
    """Why something is no plain text of one line; empty when saying so again would not help."""
    if not isinstance(value, str):
        return "put it in quotes" if isinstance(value, int | float) else ""
    if not value or value != value.strip():
        return "it is empty" if not value.strip() else "remove the spaces around it"
    if _CONTROL.search(value):
        return "remove the line breaks and control characters"
    return f"at most {MAX_TEXT} characters" if len(value) > MAX_TEXT else None


def _name(parameter: Parameter, value: object) -> Checked | Rejected:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return Checked(value)
    return _rejected(parameter, value, _text_fault(value) or "")


def _model_path(parameter: Parameter, value: object) -> Checked | Rejected:
    fault = _text_fault(value)
    if fault is None and isinstance(value, str):
        if value.startswith("/models/") and len(value) > len("/models/"):
            fault = f"write {value.removeprefix('/models/')}"
        elif value.startswith(("/", "~")):
            fault = "leave out the folder that rig.paths.models names"
        else:
            fault = _parts_fault(value)
        if fault is None:
            return Checked(value)
    return _rejected(parameter, value, fault or "")


def _path(parameter: Parameter, value: object) -> Checked | Rejected:
    fault = _text_fault(value)
    if fault is None and isinstance(value, str):
        fault = "~ means nothing inside the container" if value.startswith("~") else _parts_fault(value.removeprefix("/"))
        if fault is None:
            return Checked(value)
    return _rejected(parameter, value, fault or "")


def _parts_fault(path: str) -> str | None:
    parts = path.split("/")
    if ".." in parts:
        return "it may not contain .."
    return "write it without empty or . parts and without a slash at its end" if "" in parts or "." in parts else None


def _file_name(parameter: Parameter, value: object) -> Checked | Rejected:
    fault = _text_fault(value)
    if fault is None and isinstance(value, str):
        if "/" not in value and value not in (".", ".."):
            return Checked(value)
        fault = "put the folder into model_path" if "/" in value else ""
    return _rejected(parameter, value, fault or "")


def _url_path(parameter: Parameter, value: object) -> Checked | Rejected:
    fault = _text_fault(value)
    if fault is None and isinstance(value, str):
        if value.startswith("/") and not value.startswith("//") and " " not in value:
            return Checked(value)
        fault = "" if value.startswith("/") else f"write /{value}" if "://" not in value and " " not in value else ""
    return _rejected(parameter, value, fault or "")


def _shares(parameter: Parameter, value: object) -> Checked | Rejected:
    if not isinstance(value, list | tuple):
        return _rejected(parameter, value, "write one share a card, such as [3, 1]")
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float) or not math.isfinite(item) or item < 0:
            return Rejected(parameter.expected, f"{found_text(item)} in it")
    if not any(value) or len(value) > MAX_ITEMS:
        return Rejected(parameter.expected, "no number above 0" if not any(value) else f"{len(value)} numbers")
    return Checked(tuple(f"{item:.6g}" for item in value))


def _texts(parameter: Parameter, value: object) -> Checked | Rejected:
    if not isinstance(value, list | tuple):
        return _rejected(parameter, value, "write a list, such as [--flag, value]")
    if len(value) > MAX_ITEMS:
        return Rejected(parameter.expected, f"{len(value)} items", f"at most {MAX_ITEMS}")
    for item in value:
        fault = _text_fault(item)
        if fault is None and _FLAG_AND_VALUE.match(item):
            fault = "write the flag and its value as two items"
        if fault is not None:
            return Rejected(parameter.expected, f"{found_text(item)} in it", fault)
    return Checked(tuple(value))


def _secret(parameter: Parameter, value: object) -> Checked | Rejected:
    """A secret's name; what stands in its place may be the secret itself, so that it is described and never shown."""
    if isinstance(value, SecretRef):
        return Checked(value)
    hint = "store the value as secret NAME and write {secret: NAME}"
    if isinstance(value, Mapping) and set(value) == {"secret"}:
        try:
            return Checked(SecretRef.model_validate(dict(value)))
        except ValidationError:
            hint = "a secret's name has 1 to 64 letters, digits and _ . -"
    return Rejected(parameter.expected, "a text" if isinstance(value, str | int | float) else found_text(value), hint)


_CHECKS: Final[Mapping[Kind, Callable[[Parameter, object], Checked | Rejected]]] = {
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.BOOLEAN: _boolean,
    Kind.TEXT: _text,
    Kind.NAME: _name,
    Kind.CHOICE: _choice,
    Kind.MODEL_PATH: _model_path,
    Kind.PATH: _path,
    Kind.FILE_NAME: _file_name,
    Kind.URL_PATH: _url_path,
    Kind.SHARES: _shares,
    Kind.TEXTS: _texts,
    Kind.SECRET: _secret,
}
