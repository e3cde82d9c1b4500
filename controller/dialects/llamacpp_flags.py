"""llama-server's flags as parameters: the way back from an argv."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Final

from controller.dialects.flag_groups import Flags, Group, Locate, Understood, Word, flags_of, groups, reversed_names, whole
from controller.dialects.llamacpp import KV_NAMES, SIZES, SPEC_NAMES

_FLAGS: Final = Flags(
    values={
        **flags_of(SIZES),
        "--batch-size": "max_num_batched_tokens",
        "--ubatch-size": "ubatch_size",
        "--gpu-layers": "gpu_layers",
        "--n-gpu-layers": "gpu_layers",
        "--flash-attn": "flash_attention",
        "-ts": "tensor_split",
        "-ncmoe": "n_cpu_moe",
        "-np": "max_num_seqs",
        "--parallel": "max_num_seqs",
        "--model-draft": "spec_model",
        "--spec-draft-model": "spec_model",
        "-md": "spec_model",
        "--spec-draft-n-max": "spec_tokens",
        "--draft-max": "spec_tokens",
        "--draft": "spec_tokens",
        "--draft-n": "spec_tokens",
        "--spec-type": "spec_method",
        "--chat-template-file": "chat_template",
        "--reasoning-format": "reasoning_parser",
    },
    switches={
        "--jinja": ("tool_call_parser", "jinja"),
        "-fa": ("flash_attention", "on"),
        "--flash-attn": ("flash_attention", "on"),
    },
    own=frozenset({"--host", "--metrics", "--slots", "--fit", "-fit"}),
)
_ON: Final = {"1": "on", "true": "on", "0": "off", "false": "off"}
_SPEC: Final = reversed_names(SPEC_NAMES)
_KV: Final = {"f16": "fp16", "f32": "fp32"}
_PAIRS: Final = reversed_names({name: " ".join(pair) for name, pair in KV_NAMES.items()})


def understood(words: Iterable[Word], locate: Locate) -> Understood:
    """What the arguments of llama-server say."""
    found = Understood()
    held: dict[str, Group] = {}
    for group in groups(words, _FLAGS, dashes=False):
        flag = _LONG.get(group.flag, group.flag)
        if flag in _TOGETHER and group.value is not None:
            held[flag] = group
        elif flag == "--alias" and group.value is not None:
            found.served_names = tuple(group.value.split(","))
        elif not _FLAGS.read(group, found, locate):
            found.rest.append(group)
    _files(held, found, locate)
    _context(held.get("--ctx-size"), found)
    _kv_cache(held, found)
    for name, words_for in (("flash_attention", _ON), ("spec_method", _SPEC)):
        if isinstance(value := found.parameters.get(name), str):
            found.parameters[name] = words_for.get(value, value)
    return found


_LONG: Final = {
    "-m": "--model",
    "-mm": "--mmproj",
    "-c": "--ctx-size",
    "-ctk": "--cache-type-k",
    "-ctv": "--cache-type-v",
    "-a": "--alias",
}
_TOGETHER: Final = frozenset({"--model", "--mmproj", "--ctx-size", "--cache-type-k", "--cache-type-v"})
"""Flags of which several make one parameter."""


def _files(held: dict[str, Group], found: Understood, locate: Locate) -> None:
    """The model's file, and the projector where it lies beside it."""
    folder: str | None = None
    for flag, name in (("--model", "model_file"), ("--mmproj", "mmproj_file")):
        if (group := held.get(flag)) is None:
            continue
        path = locate(group.value or "")
        if path is None or (name == "mmproj_file" and posixpath.dirname(path) != folder):
            found.rest.append(group)
            continue
        folder, file = posixpath.split(path)
        found.take(name, file, group)
        if folder:
            found.take("model_path", folder, group)


def _context(group: Group | None, found: Understood) -> None:
    """The whole context over the slots; none of 0, which stands for the model's own."""
    if group is None:
        return
    slots = found.parameters.get("max_num_seqs", 1)
    total = whole(group.value or "")
    if total and isinstance(slots, int) and slots > 0:
        found.take("max_model_len", total // slots, group)
    else:
        found.rest.append(group)


def _kv_cache(held: dict[str, Group], found: Understood) -> None:
    pair = [held[flag] for flag in ("--cache-type-k", "--cache-type-v") if flag in held]
    texts = [group.value or "" for group in pair]
    name = _PAIRS.get(" ".join(texts)) or (_KV.get(texts[0], texts[0]) if len(set(texts)) == 1 and len(texts) == 2 else None)
    if name is None:
        found.rest += pair
    else:
        found.take("kv_cache_dtype", name, pair[0])
