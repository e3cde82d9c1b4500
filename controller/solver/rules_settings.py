"""Settings that contradict each other: G9."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from controller.model.parameters import PARAMETERS
from controller.model.problem import Severity
from controller.model.profile_words import DialectName, WeightFormat
from controller.solver.candidate import Candidate
from controller.solver.drafting import METHOD
from controller.solver.known import cards_of, counted, no_cards
from controller.solver.kv import UNQUANTISED, kv_format
from controller.solver.rule import Rule, Said, holds
from controller.solver.tenant import Finding

BATCHED: Final = "max_num_batched_tokens"
LENGTH: Final = "max_model_len"
SEQUENCES: Final = "max_num_seqs"
TOKENS: Final = "spec_tokens"
JUDGED: Final = (
    LENGTH, SEQUENCES, BATCHED, TOKENS, METHOD, "spec_model", "kv_cache_dtype", "dtype", "quantization", "attention_backend",
    "tensor_parallel_size", "pipeline_parallel_size", "gpu_memory_utilization", "enable_chunked_prefill", "tensor_split",
)  # fmt: skip
"""Parameters that rules look at, so that a flag in their place would go unjudged."""
_FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {f"--{word.replace('_', '-')}": name for name in JUDGED for word in (name, *PARAMETERS[name].also)}
    | {"-c": LENGTH, "-np": SEQUENCES, "-b": BATCHED, "-ctk": "kv_cache_dtype", "-ctv": "kv_cache_dtype", "-ts": "tensor_split"}
    | {"--cache-type-k": "kv_cache_dtype", "--cache-type-v": "kv_cache_dtype", "--tp": "tensor_parallel_size"}
)
_METHODS_OF: Final[Mapping[WeightFormat, frozenset[str]]] = MappingProxyType(
    {
        WeightFormat.AWQ: frozenset({"awq", "awq_marlin"}),
        WeightFormat.GPTQ: frozenset({"gptq", "gptq_marlin"}),
        WeightFormat.COMPRESSED_TENSORS: frozenset({"compressed-tensors"}),
        WeightFormat.MODELOPT: frozenset({"modelopt", "modelopt_fp4"}),
        WeightFormat.MXFP4: frozenset({"mxfp4"}),
    }
)
"""Words of `quantization` that belong to one format of weights alone."""


def g9_settings(me: Candidate) -> Iterator[Said]:
    """G9: no two settings contradict each other."""
    of_type = {DialectName.VLLM: _VLLM, DialectName.LLAMACPP: _LLAMACPP}.get(me.engine.type, ())
    found = [finding for check in (*of_type, _drafted_tokens, _in_flags) for finding in check(me)]
    yield from found or (holds("no two settings contradict each other"),)


def _finding(me: Candidate, parameter: str, message: str, hint: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding("G9", me.name, ("set", parameter), message, hint, severity)


def _one_piece(me: Candidate) -> Iterator[Finding]:
    batched, length = me.number(BATCHED), me.number(LENGTH)
    if me.parameters.get("enable_chunked_prefill") is False and batched is not None and length is not None and batched < length:
        message = (
            f"{BATCHED} {batched} is less than {LENGTH} {length}, and without chunked prefill a prompt must fit in one step"
        )
        yield _finding(me, BATCHED, message, f"set {BATCHED}: {length}, or enable_chunked_prefill: true")


def _one_token_each(me: Candidate) -> Iterator[Finding]:
    batched, sequences = me.number(BATCHED), me.number(SEQUENCES)
    if batched is not None and sequences is not None and batched < sequences:
        message = f"{BATCHED} {batched} is less than {SEQUENCES} {sequences}: vLLM wants a token for each of them in a step"
        yield _finding(me, BATCHED, message, f"set {BATCHED}: {sequences} or more, or a smaller {SEQUENCES}")


def _weights_method(me: Candidate) -> Iterator[Finding]:
    written = (me.text("quantization") or "").lower()
    meant = next((form for form, words in _METHODS_OF.items() if written in words), None)
    if meant is not None and me.weights is not None and me.weights.format in _METHODS_OF and me.weights.format is not meant:
        message = f"quantization {written} does not match weights {me.weights_id}, which are {me.weights.format}"
        yield _finding(me, "quantization", message, "leave quantization out: the model's files say it")


def _nobody_drafts(me: Candidate) -> Iterator[Finding]:
    if TOKENS in me.parameters and METHOD not in me.parameters and "spec_model" not in me.parameters:
        message = f"{TOKENS} {me.parameters[TOKENS]} is set, and neither {METHOD} nor spec_model says who drafts"
        yield _finding(me, TOKENS, message, f"add {METHOD}, or write {TOKENS}: null")


def _value_cache(me: Candidate) -> Iterator[Finding]:
    chosen = kv_format(me)
    if me.text("flash_attention") == "off" and chosen is not None and chosen not in UNQUANTISED:
        message = f"flash_attention is off, and a V cache in {chosen} needs it"
        yield _finding(me, "flash_attention", message, "set flash_attention: auto, or kv_cache_dtype: fp16")


def _inner_batch(me: Candidate) -> Iterator[Finding]:
    inner, batched = me.number("ubatch_size"), me.number(BATCHED)
    if inner is not None and batched is not None and inner > batched:
        message = f"ubatch_size {inner} is more than {BATCHED} {batched}: llama.cpp lowers it in silence"
        yield _finding(me, "ubatch_size", message, f"set ubatch_size: {batched} or less", Severity.WARNING)


def _shares(me: Candidate) -> Iterator[Finding]:
    shares = me.parameters.get("tensor_split")
    if isinstance(shares, tuple) and no_cards(me) is None and len(shares) != len(cards_of(me)):
        has = counted(len(cards_of(me)), "card")
        message = f"tensor_split has {counted(len(shares), 'share')}, and the instance has {has}"
        yield _finding(me, "tensor_split", message, "give each card one share, in the order of gpus", Severity.WARNING)


def _drafted_tokens(me: Candidate) -> Iterator[Finding]:
    tokens, drafter = me.number(TOKENS), me.drafting
    if drafter is not None and tokens is not None and tokens > drafter.tokens_max:
        message = f"{TOKENS} {tokens} is more than drafter {drafter.id} is made for: {drafter.tokens_max}"
        yield _finding(me, TOKENS, message, f"set {TOKENS}: {drafter.tokens_default}, its own choice", Severity.WARNING)


def _in_flags(me: Candidate) -> Iterator[Finding]:
    """A flag that stands for a parameter: what the rules looked at is then not what the engine does."""
    own = me.parameters.get("extra_args", ())
    for flag in me.flags:
        name, word = _FLAGS.get(flag.partition("=")[0]), flag.partition("=")[0]
        if name is not None and me.engine.type in PARAMETERS[name].dialects:
            mine = isinstance(own, tuple) and flag in own
            message = f"the flag {word} goes past the rules, which judge the parameter {name}"
            hint = f"write {name} into set, and remove the flag from {'extra_args' if mine else 'the command of the template'}"
            yield Finding("G9", me.name, ("set", "extra_args") if mine else ("compose",), message, hint, Severity.WARNING)


_Check = Callable[[Candidate], Iterator[Finding]]
_VLLM: Final[tuple[_Check, ...]] = (_one_piece, _one_token_each, _weights_method, _nobody_drafts)
_LLAMACPP: Final[tuple[_Check, ...]] = (_value_cache, _inner_batch, _shares)

RULES: Final = (
    Rule(
        "G9",
        "settings that do not contradict each other",
        Severity.ERROR,
        "vLLM stops at boot on each of its own; llama.cpp lowers values in silence; a flag in a parameter's place is judged by"
        " nobody, so that one thing is checked and another one boots",
        "change one of the two, as the finding says",
        alone=g9_settings,
    ),
)
