"""SGLang's flags as parameters: the way back from an argv."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.dialects.flag_groups import Flags, Group, Locate, Understood, Word, flags_of, groups, reversed_names, whole
from controller.dialects.sglang import FORMATS, IN_ONE_STEP, PARSERS, SIZES, SPEC_NAMES

_FLAGS: Final = Flags(
    values={
        **flags_of(SIZES, FORMATS, PARSERS),
        "--tp": "tensor_parallel_size",
        "--tensor-parallel-size": "tensor_parallel_size",
        "--pp": "pipeline_parallel_size",
        "--pipeline-parallel-size": "pipeline_parallel_size",
        "--chunked-prefill-size": "max_num_batched_tokens",
        "--kv-cache-dtype": "kv_cache_dtype",
        "--chat-template": "chat_template",
    },
    switches={
        "--disable-radix-cache": ("enable_prefix_caching", False),
        "--disable-cuda-graph": ("enforce_eager", True),
        "--trust-remote-code": ("trust_remote_code", True),
    },
    own=frozenset({"--host", "--enable-metrics"}),
)
_SPEC: Final = {**reversed_names(SPEC_NAMES), "EAGLE3": "eagle3"}
_OF_SPECULATION: Final = "--speculative-"


def understood(words: Iterable[Word], locate: Locate) -> Understood:
    """What the arguments after `sglang.launch_server` say."""
    found = Understood()
    speculation: dict[str, Group] = {}
    for group in groups(words, _FLAGS, dashes=True):
        if group.flag in ("--model-path", "--model") and group.value is not None:
            _model(group, found, locate)
        elif group.flag == "--served-model-name" and group.value is not None:
            found.served_names = group.values
        elif group.flag == "--chunked-prefill-size" and group.value == "-1":
            found.take("enable_chunked_prefill", False, group)
        elif group.flag.startswith(_OF_SPECULATION):
            speculation[group.flag.removeprefix(_OF_SPECULATION)] = group
        elif not _FLAGS.read(group, found, locate):
            found.rest.append(group)
    _speculation(speculation, found, locate)
    return found


def _model(group: Group, found: Understood, locate: Locate) -> None:
    found.model = group.value
    path = locate(group.value or "")
    if path is None:
        found.rest.append(group)
    else:
        found.take("model_path", path, group)


def _speculation(given: dict[str, Group], found: Understood, locate: Locate) -> None:
    """All of it as parameters, or none: a chain of one token a step is all that the parameters can say."""
    algorithm = given.get("algorithm")
    method = _SPEC.get(algorithm.value or "") if algorithm else None
    draft = locate(given["draft-model-path"].value or "") if "draft-model-path" in given else None
    tokens = _tokens(given, method) if method else None
    known = {"algorithm", "draft-model-path", "num-steps", "eagle-topk", "num-draft-tokens"}
    lost = "draft-model-path" in given and draft is None
    if algorithm is None or method is None or tokens is None or lost or given.keys() - known:
        found.rest += given.values()
        return
    found.take("spec_method", method, algorithm)
    found.take("spec_tokens", tokens, algorithm)
    if draft is not None:
        found.take("spec_model", draft, given["draft-model-path"])


def _tokens(given: dict[str, Group], method: str) -> int | None:
    numbers = {key: whole(group.value or "") for key, group in given.items() if key in ("num-steps", "num-draft-tokens")}
    proposed = numbers.get("num-draft-tokens")
    if method in IN_ONE_STEP:
        return proposed if "num-steps" not in given else None
    steps = numbers.get("num-steps")
    topk = given["eagle-topk"].value if "eagle-topk" in given else None
    return steps if steps is not None and topk == "1" and proposed == steps + 1 else None
