"""`llama-server` of the llama.cpp test image: a command line in front of llama.cpp's own HTTP server in the wheel xllamacpp.

The server, its log lines, its endpoints and its loading are llama.cpp's. The flag parser is ours and stands in for
llama.cpp's own, because the wheel has none: it knows exactly the flags that Steward's llama.cpp dialect can write, with the
spellings, the values and the error texts of the real one (checked by hand against Debian's llama-server), and refuses any
other.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import xllamacpp

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
SPEC_TYPES = (
    "none",
    "draft-simple",
    "draft-eagle3",
    "draft-mtp",
    "draft-dflash",
    "draft-dspark",
    "ngram-simple",
    "ngram-map-k",
    "ngram-map-k4v",
    "ngram-mod",
    "ngram-cache",
)
ON_OFF = {"on": True, "enabled": True, "true": True, "1": True, "off": False, "disabled": False, "false": False, "0": False}
MOE_TENSORS = r"blk\.{layer}\.ffn_(up|down|gate_up|gate)_(ch|)exps"
TENSOR_SPLIT_SIZE = 128

Params = Any
"""xllamacpp.CommonParams, a type that the wheel does not describe."""


class ArgumentError(Exception):
    """A flag that llama-server would refuse; its text is what is printed."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag under all its spellings; a `metavar` of None takes no value."""

    names: tuple[str, ...]
    metavar: str | None
    help: str
    apply: Callable[[Params, str], None]


def _alias(params: Params, value: str) -> None:
    params.model_alias = {name.strip() for name in value.split(",") if name.strip()}


def _hosts(params: Params, value: str) -> None:
    params.hostnames = value.split(",")


def _api_keys(params: Params, value: str) -> None:
    params.api_keys = [*params.api_keys, *value.split(",")]


def _model(params: Params, value: str) -> None:
    params.model.path = value


def _projector(params: Params, value: str) -> None:
    params.mmproj.path = value


def _draft_model(params: Params, value: str) -> None:
    params.speculative.draft.mparams.path = value


def _chat_template_file(params: Params, value: str) -> None:
    try:
        params.chat_template = Path(value).read_text(encoding="utf-8")
    except OSError:
        raise ValueError(f"error: failed to open file '{value}'") from None


def _reasoning_format(params: Params, value: str) -> None:
    formats = {name.split("FORMAT_")[1].lower().replace("_", "-"): kind for name, kind in _enum("common_reasoning_format")}
    if value not in formats:
        raise ValueError(f"Unknown reasoning format: {value}")
    params.reasoning_format = formats[value]


def _flash_attention(params: Params, value: str) -> None:
    kind = xllamacpp.llama_flash_attn_type
    if value == "auto":
        params.flash_attn_type = kind.LLAMA_FLASH_ATTN_TYPE_AUTO
    elif value in ON_OFF:
        enabled, disabled = kind.LLAMA_FLASH_ATTN_TYPE_ENABLED, kind.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.flash_attn_type = enabled if ON_OFF[value] else disabled
    else:
        raise ValueError(f"error: unknown value for --flash-attn: '{value}'")


def _fit(params: Params, value: str) -> None:
    if value not in ON_OFF:
        raise ValueError(f"error: unknown value for --fit: '{value}'")
    params.fit_params = ON_OFF[value]


def _parallel(params: Params, value: str) -> None:
    slots = int(value)
    params.kv_unified = slots < 0
    params.n_parallel = slots if slots > 0 else 4


def _tensor_split(params: Params, value: str) -> None:
    shares = [float(share) for share in value.replace("/", ",").split(",")]
    params.tensor_split = shares + [0.0] * (TENSOR_SPLIT_SIZE - len(shares))


def _cpu_moe(params: Params, value: str) -> None:
    overrides = ",".join(f"{MOE_TENSORS.format(layer=layer)}=CPU" for layer in range(int(value)))
    if overrides:
        params.tensor_buft_overrides = overrides


def _spec_type(params: Params, value: str) -> None:
    kinds = {name.split("TYPE_")[1].lower().replace("_", "-"): kind for name, kind in _enum("common_speculative_type")}
    unknown = [name for name in value.split(",") if name not in SPEC_TYPES]
    if unknown:
        raise ValueError(f"unknown speculative type: {unknown[0]}")
    params.speculative.types = [kinds[name] for name in value.split(",")]


def _enum(name: str) -> Iterator[tuple[str, Any]]:
    """The members of one of the wheel's enums, by name."""
    for member in getattr(xllamacpp, name):
        yield member.name, member


def _cache_type(value: str) -> Any:
    if value not in CACHE_TYPES:
        raise ValueError(f"Unsupported cache type: {value}")
    return getattr(xllamacpp.ggml_type, f"GGML_TYPE_{value.upper()}")


def _layers(value: str) -> int:
    return {"auto": -1, "all": -2}.get(value) or int(value)


def _set(name: str, convert: Callable[[str], Any]) -> Callable[[Params, str], None]:
    """An effect that stores the converted value in the attribute of that dotted name."""

    def apply(params: Params, value: str) -> None:
        *path, attribute = name.split(".")
        owner = params
        for part in path:
            owner = getattr(owner, part)
        setattr(owner, attribute, convert(value))

    return apply


def _switch(name: str, value: bool) -> Callable[[Params, str], None]:
    return _set(name, lambda _: value)


def _removed(instead: str) -> Callable[[Params, str], None]:
    def apply(_params: Params, _value: str) -> None:
        raise ValueError(f"the argument has been removed. use {instead}")

    return apply


FLAGS = (
    Flag(("-m", "--model"), "FNAME", "model path to load", _model),
    Flag(("-mm", "--mmproj"), "FILE", "path to a multimodal projector file", _projector),
    Flag(("-a", "--alias"), "STRING", "model name aliases, comma-separated", _alias),
    Flag(("--host",), "HOST", "addresses to listen on, comma-separated (default: 127.0.0.1)", _hosts),
    Flag(("--port",), "PORT", "port to listen on (default: 8080)", _set("port", int)),
    Flag(("--api-key",), "KEY", "API keys, comma-separated", _api_keys),
    Flag(("-c", "--ctx-size"), "N", "size of the context, shared by the slots (0: from the model)", _set("n_ctx", int)),
    Flag(("-np", "--parallel"), "N", "number of server slots (-1: auto)", _parallel),
    Flag(("-b", "--batch-size"), "N", "logical maximum batch size", _set("n_batch", int)),
    Flag(("-ub", "--ubatch-size"), "N", "physical maximum batch size", _set("n_ubatch", int)),
    Flag(("-ctk", "--cache-type-k"), "TYPE", "KV cache data type for K", _set("cache_type_k", _cache_type)),
    Flag(("-ctv", "--cache-type-v"), "TYPE", "KV cache data type for V", _set("cache_type_v", _cache_type)),
    Flag(("-ngl", "--gpu-layers", "--n-gpu-layers"), "N", "layers in VRAM: N, auto or all", _set("n_gpu_layers", _layers)),
    Flag(("-fa", "--flash-attn"), "[on|off|auto]", "flash attention", _flash_attention),
    Flag(("-ts", "--tensor-split"), "N0,N1,...", "proportions of the model on each GPU", _tensor_split),
    Flag(("-ncmoe", "--n-cpu-moe"), "N", "keep the experts of the first N layers in the CPU", _cpu_moe),
    Flag(("-fit", "--fit"), "[on|off]", "adjust unset arguments to fit in device memory", _fit),
    Flag(("--jinja",), None, "use the jinja template engine for chat", _switch("use_jinja", True)),
    Flag(("--no-jinja",), None, "do not use the jinja template engine", _switch("use_jinja", False)),
    Flag(("--chat-template-file",), "FILE", "jinja chat template file", _chat_template_file),
    Flag(("--reasoning-format",), "FORMAT", "none, deepseek, deepseek-legacy or auto", _reasoning_format),
    Flag(("--metrics",), None, "enable the Prometheus endpoint", _switch("endpoint_metrics", True)),
    Flag(("--slots",), None, "expose the slots endpoint", _switch("endpoint_slots", True)),
    Flag(("--no-slots",), None, "do not expose the slots endpoint", _switch("endpoint_slots", False)),
    Flag(("--spec-type",), ",".join(SPEC_TYPES), "types of speculative decoding, comma-separated", _spec_type),
    Flag(("--spec-draft-model", "-md", "--model-draft"), "FNAME", "draft model", _draft_model),
    Flag(("--spec-draft-n-max",), "N", "tokens to draft", _set("speculative.draft.n_max", int)),
    Flag(("--spec-draft-n-min",), "N", "minimum of draft tokens to use", _set("speculative.draft.n_min", int)),
    Flag(("--spec-draft-p-min", "--draft-p-min"), "P", "minimum draft probability", _set("speculative.draft.p_min", float)),
    Flag(
        ("--spec-draft-ngl", "-ngld", "--gpu-layers-draft", "--n-gpu-layers-draft"),
        "N",
        "layers of the draft model in VRAM",
        _set("speculative.draft.n_gpu_layers", _layers),
    ),
    Flag(
        ("--spec-draft-type-k", "-ctkd", "--cache-type-k-draft"),
        "TYPE",
        "draft KV cache data type for K",
        _set("speculative.draft.cache_type_k", _cache_type),
    ),
    Flag(
        ("--spec-draft-type-v", "-ctvd", "--cache-type-v-draft"),
        "TYPE",
        "draft KV cache data type for V",
        _set("speculative.draft.cache_type_v", _cache_type),
    ),
    Flag(("--draft", "--draft-n", "--draft-max"), "N", "removed", _removed("--spec-draft-n-max or --spec-ngram-mod-n-max")),
    Flag(("--draft-min", "--draft-n-min"), "N", "removed", _removed("--spec-draft-n-min or --spec-ngram-mod-n-min")),
)
BY_NAME = {name: flag for flag in FLAGS for name in flag.names}


def parse(argv: list[str]) -> Params:
    """The parameters that a command line asks for, or an ArgumentError in llama-server's own words."""
    params = xllamacpp.CommonParams()
    params.port = 8080
    seen: set[Flag] = set()
    words = iter(argv)
    for word in words:
        flag = BY_NAME.get(word)
        if flag is None:
            raise ArgumentError(f"error: invalid argument: {word}")
        if flag in seen and flag.metavar is not None:
            text = "specified multiple times, use comma-separated values instead (only last value will be used)"
            print(f"DEPRECATED: argument '{word}' {text}", file=sys.stderr, flush=True)
        seen.add(flag)
        _apply(params, flag, word, words)
    return params


def _apply(params: Params, flag: Flag, word: str, words: Iterator[str]) -> None:
    """Give one flag its effect; what is wrong with its value names the flag."""
    value = "" if flag.metavar is None else next(words, None)
    if value is None:
        raise ArgumentError(_value_error(flag, word, "expected value for argument"))
    try:
        flag.apply(params, value)
    except ValueError as error:
        said = "stoi" if "invalid literal" in str(error) else str(error)
        raise ArgumentError(_value_error(flag, word, said)) from error


def _value_error(flag: Flag, word: str, problem: str) -> str:
    spelling = f"{', '.join(flag.names)} {flag.metavar or ''}".rstrip()
    return f'error while handling argument "{word}": {problem}\n\nusage:\n{spelling}    {flag.help}\n'


def usage() -> str:
    """What `--help` prints: every flag that this image's server accepts."""
    lines = [f"{', '.join(flag.names)} {flag.metavar or ''}".rstrip().ljust(64) + f" {flag.help}" for flag in FLAGS]
    return "\n".join(("usage: llama-server [options]", "", *lines))


def serve(params: Params) -> int:
    """Load the model and serve it until TERM or INT; as in llama-server both are handled only once the model is loaded."""
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:
        return 1  # llama.cpp has already logged why
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    while server.listening_address:
        signal.pause()
    return 0


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    """End the process at once, streams included: the wheel's own stop waits without a limit for clients to hang up."""
    print("srv    operator(): cleaning up before exit...", file=sys.stderr, flush=True)
    os._exit(0)


def main() -> NoReturn:
    """Run the server with the flags of the command line."""
    argv = sys.argv[1:]
    if {"-h", "--help", "--usage"} & set(argv):
        print(usage())
        sys.exit(0)
    try:
        params = parse(argv)
    except ArgumentError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    sys.exit(serve(params))


if __name__ == "__main__":
    main()
