"""vLLM's flags as parameters: the way back from an argv."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from controller.dialects.flag_groups import Flags, Group, Locate, Understood, Word, flags_of, groups, reversed_names
from controller.dialects.vllm import FORMATS, KV_NAMES, ON_OR_OFF, PARALLEL, SWITCHES

_FLAGS: Final = Flags(
    values={
        **flags_of(PARALLEL, FORMATS),
        "-tp": "tensor_parallel_size",
        "-pp": "pipeline_parallel_size",
        "-q": "quantization",
        "--kv-cache-dtype": "kv_cache_dtype",
        "--tool-call-parser": "tool_call_parser",
        "--reasoning-parser": "reasoning_parser",
        "--chat-template": "chat_template",
    },
    switches={
        **{on: (name, True) for name, on, _ in ON_OR_OFF},
        **{off: (name, False) for name, _, off in ON_OR_OFF},
        **{flag: (name, True) for name, flag in SWITCHES},
    },
    own=frozenset({"--host", "--enable-auto-tool-choice", "--shutdown-timeout"}),
)
_KV: Final = reversed_names(KV_NAMES)
_SPECULATION: Final = {"method": "spec_method", "num_speculative_tokens": "spec_tokens", "model": "spec_model"}


def understood(words: Iterable[Word], locate: Locate) -> Understood:
    """What the arguments after `vllm serve` say."""
    found = Understood()
    for group in groups(words, _FLAGS, dashes=True):
        if group.flag in ("", "--model") and group.value is not None:
            _model(group, found, locate)
        elif group.flag == "--served-model-name" and group.values:
            found.served_names = group.values
        elif group.flag in ("--speculative-config", "-sc"):
            _speculation(group, found, locate)
        elif not _FLAGS.read(group, found, locate):
            found.rest.append(group)
    if isinstance(kv := found.parameters.get("kv_cache_dtype"), str):
        found.parameters["kv_cache_dtype"] = _KV.get(kv, kv)
    return found


def _model(group: Group, found: Understood, locate: Locate) -> None:
    """A folder below the models; the name of a repository stays a flag."""
    assert group.value is not None, "the model was looked at"
    found.model = group.value
    if (path := locate(group.value)) is not None:
        found.take("model_path", path, group)
    else:
        place = group.words[-1].place
        found.rest.append(Group("--model", (group.value,), (Word("--model", place), Word(group.value, place))))


def _speculation(group: Group, found: Understood, locate: Locate) -> None:
    try:
        config = json.loads(group.value or "")
    except ValueError:
        config = None
    if not isinstance(config, dict) or not config or config.keys() - _SPECULATION.keys():
        found.rest.append(group)
        return
    values = {_SPECULATION[key]: value for key, value in config.items()}
    if isinstance(model := values.get("spec_model"), str):
        values["spec_model"] = locate(model)
    if None in values.values():
        found.rest.append(group)
        return
    for name, value in values.items():
        found.take(name, value, group)
