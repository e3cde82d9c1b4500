"""The environment variables of the older tooling, put into the instances that they were meant for."""

from __future__ import annotations

import ipaddress
import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from controller.dialects.flag_groups import converted
from controller.model.document import Plain
from controller.model.parameters import PARAMETERS, Checked, Kind, check_value
from controller.model.profile import DialectName
from controller.resolve.image_reference import is_reference
from controller.resolve.importing.drafting import DraftEntry, DraftEstate, Host, Ledger
from controller.resolve.importing.variables import Variable
from controller.resolve.profiles import Profiles
from controller.resolve.template import Template, read_template

_VLLM: Final = frozenset({DialectName.VLLM})
_GPU_ONLY: Final = frozenset({DialectName.VLLM, DialectName.SGLANG})
_LLAMACPP: Final = frozenset({DialectName.LLAMACPP})
_MODELS: Final = _GPU_ONLY | _LLAMACPP

_SWITCHES: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}
TOKEN: Final = "HF_TOKEN"
TOKEN_SECRET: Final = "hf-token"


@dataclass(frozen=True, slots=True)
class _User:
    """An instance with its template."""

    entry: DraftEntry
    template: Template


_Values: TypeAlias = Callable[[str, _User], Mapping[str, Plain]]


def apply_variables(estate: DraftEstate, given: Mapping[str, Variable], profiles: Profiles, host: Host, ledger: Ledger) -> None:
    """Put every variable where it belongs; what no instance can take is told. An empty one counts as not there."""
    read = ((entry, read_template(str(entry.keys["compose"]), profiles).template) for entry in estate.entries)
    users = [_User(entry, template) for entry, template in read if template is not None]
    for variable in (one for one in given.values() if one.value):
        if variable.name == "MODEL_DIR":
            estate.paths["models"] = host.absolute(variable.value)
        elif variable.name == "BIND_HOST":
            _bind(estate, variable, ledger)
        elif variable.name == "PORT":
            _port(estate, variable, ledger)
        elif variable.name in _PARAMETERS:
            _parameter(variable, users, ledger)
        elif variable.name == "VLLM_IMAGE":
            _image(variable, users, ledger)
        elif variable.name == TOKEN:
            _token(variable, users, ledger)
        else:
            hint = "where it was meant for an engine, write it under env of that instance"
            ledger.lost(variable.place, f"{variable.name} is no variable that Steward knows", hint)


def _parameter(variable: Variable, users: Iterable[_User], ledger: Ledger) -> None:
    engines, values = _PARAMETERS[variable.name]
    meant = [user for user in users if user.template.dialect.name in engines]
    if not meant:
        ledger.lost(variable.place, f"{variable.name} is for {', '.join(sorted(engines))}, and no instance here is one of them")
    for user in meant:
        for name, value in values(variable.value, user).items():
            _set(variable, user, name, value, ledger)


def _set(variable: Variable, user: _User, name: str, value: Plain, ledger: Ledger) -> None:
    """One parameter of one instance, unless its template has that value anyway or cannot take it."""
    declared = user.template.parameters.get(name)
    checked = check_value(name, value)
    if not isinstance(checked, Checked):
        ledger.lost(variable.place, f"{variable.name}: {checked.message}", checked.hint)
    elif declared is not None and declared.default == checked.value:
        return
    elif declared is None or not declared.settable:
        hint = f"a template of your own that extends {user.template.identifier} can have another one"
        ledger.lost(variable.place, f"{variable.name}: {user.template.identifier} does not open {name}", hint)
    elif fault := declared.bound_fault(checked.value):
        ledger.lost(variable.place, f"{variable.name}: {fault}")
    else:
        user.entry.set(name, value, f"{variable.name} in {variable.place.file}, line {variable.place.line}")


def _value(name: str, text: str) -> Plain:
    """The text as the parameter's value; itself where it cannot be one, so that the check says what is wrong."""
    if PARAMETERS[name].kind is Kind.BOOLEAN:
        return _SWITCHES.get(text.lower(), text)
    found = converted(name, text, lambda path: path)
    return text if found is None else found


def _context(text: str, user: _User) -> Mapping[str, Plain]:
    """llama.cpp's context is for all slots together."""
    total = _value("max_model_len", text)
    declared = user.template.parameters.get("max_num_seqs")
    slots = declared.default if declared is not None and isinstance(declared.default, int) else 1
    return {"max_model_len": total // slots if isinstance(total, int) and not isinstance(total, bool) else total}


def _model_file(text: str, _user: _User) -> Mapping[str, Plain]:
    folder, file = posixpath.split(text.lstrip("/"))
    return {**({"model_path": folder} if folder else {}), "model_file": file}


def _projector(text: str, user: _User) -> Mapping[str, Plain]:
    """A projector that the template's own flags name already needs nothing."""
    if any(word.endswith(f"/{text.lstrip('/')}") for word in user.template.parts.service.command):
        return {}
    return {"mmproj_file": posixpath.basename(text)}


def _plainly(name: str) -> _Values:
    """A variable that is one parameter."""
    return lambda text, _user: {name: _value(name, text)}


_PARAMETERS: Final[Mapping[str, tuple[frozenset[DialectName], _Values]]] = {
    "MAX_MODEL_LEN": (_GPU_ONLY, _plainly("max_model_len")),
    "GPU_MEMORY_UTILIZATION": (_GPU_ONLY, _plainly("gpu_memory_utilization")),
    "TP": (_GPU_ONLY, _plainly("tensor_parallel_size")),
    "PP": (_GPU_ONLY, _plainly("pipeline_parallel_size")),
    "VLLM_ENFORCE_EAGER": (_VLLM, _plainly("enforce_eager")),
    "KV_CACHE_DTYPE": (_GPU_ONLY, _plainly("kv_cache_dtype")),
    "CTX_SIZE": (_LLAMACPP, _context),
    "BATCH_SIZE": (_LLAMACPP, _plainly("max_num_batched_tokens")),
    "UBATCH_SIZE": (_LLAMACPP, _plainly("ubatch_size")),
    "KV_TYPE": (_LLAMACPP, _plainly("kv_cache_dtype")),
    "GGUF_FILE": (_LLAMACPP, _model_file),
    "MMPROJ_FILE": (_LLAMACPP, _projector),
    "REASONING_FORMAT": (_LLAMACPP, _plainly("reasoning_parser")),
}
"""The engine types that a variable was for, and the parameters that it is."""


KNOWN: Final = frozenset({*_PARAMETERS, "MODEL_DIR", "BIND_HOST", "PORT", "VLLM_IMAGE", TOKEN})
"""Every variable of the older tooling that means something here."""


def _bind(estate: DraftEstate, variable: Variable, ledger: Ledger) -> None:
    try:
        ipaddress.ip_address(variable.value)
    except ValueError:
        ledger.lost(variable.place, "BIND_HOST is no IP address", "write defaults: {bind: ADDRESS}")
        return
    defaults = estate.others.setdefault("defaults", {})
    if isinstance(defaults, dict):
        defaults.setdefault("bind", variable.value)


def _port(estate: DraftEstate, variable: Variable, ledger: Ledger) -> None:
    """The port of an instance that had none of its own."""
    without = [entry for entry in estate.entries if "port" in entry.comments]
    if len(without) == 1 and variable.value.isdigit():
        without[0].keys["port"] = int(variable.value)
        without[0].comments["port"] = [f"PORT in {variable.place.file}, line {variable.place.line}"]
    else:
        ledger.lost(variable.place, "PORT is not needed: each instance has its port in the estate")


def _image(variable: Variable, users: Iterable[_User], ledger: Ledger) -> None:
    meant = [user for user in users if user.template.dialect.name is DialectName.VLLM]
    if not meant:
        ledger.lost(variable.place, "VLLM_IMAGE is for vllm, and no instance here is one of them")
    elif not is_reference(variable.value):
        ledger.lost(variable.place, f"VLLM_IMAGE: {variable.value} is no image reference")
    for user in meant if is_reference(variable.value) else ():
        if variable.value != (user.template.parts.service.image or user.template.profile.image):
            user.entry.keys["image"] = variable.value
            user.entry.explain("image", f"VLLM_IMAGE in {variable.place.file}, line {variable.place.line}")


def _token(variable: Variable, users: Iterable[_User], ledger: Ledger) -> None:
    """A secret by its name: its value stands in no file of the estate."""
    meant = [user for user in users if user.template.dialect.name in _MODELS]
    for user in meant:
        user.entry.env(
            TOKEN, {"secret": TOKEN_SECRET}, f"Its value belongs into the file secrets/{TOKEN_SECRET} of the state folder."
        )
    if meant:
        hint = f"write the value into the file secrets/{TOKEN_SECRET} of the state folder (mode 0600), or remove {TOKEN}"
        ledger.changed(variable.place, f"{TOKEN} becomes the secret {TOKEN_SECRET}", hint)
    else:
        ledger.lost(variable.place, f"{TOKEN}: no instance here loads a model")
