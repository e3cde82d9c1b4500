"""How a model is divided over cards: C1 and C2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from controller.model.problem import Severity
from controller.solver.candidate import Candidate
from controller.solver.known import counted, listed
from controller.solver.rule import Rule, Said, holds, skipped
from controller.solver.tenant import Finding, Tenant


def c1_card_count(me: Candidate) -> Iterator[Said]:
    """C1: the number of cards is tensor x pipeline parallel size, and what the template needs."""
    found = tuple(sizes(me.tenant, valid_sizes(me)))
    yield from found or (holds(counted(me.tenant.card_count, "card")),)


def sizes(tenant: Tenant, valid: Sequence[int] = ()) -> Iterator[Finding]:
    """What C1 says of a claimant; `valid` are the tensor parallel sizes of its model, empty where they are not known."""
    count, tensor, pipeline = tenant.card_count, tenant.tensor, tenant.pipeline
    if count and tensor is not None and pipeline is not None and tensor * pipeline != count:
        message = (
            f"tensor_parallel_size {tensor} x pipeline_parallel_size {pipeline} = {tensor * pipeline}, "
            f"but the instance has {counted(count, 'card')}"
        )
        yield Finding("C1", tenant.name, ("gpus",), message, _sizes_hint(count, valid))
    elif tenant.gpus_needed is not None and tenant.gpus_needed != count:
        needed = counted(tenant.gpus_needed, "card")
        yield Finding(
            "C1", tenant.name, ("gpus",), f"the template needs {needed}, the instance has {count}", f"give it {needed}"
        )


def _sizes_hint(count: int, valid: Sequence[int]) -> str:
    if not valid or count in valid:
        return f"set tensor_parallel_size: {count}, or change the number of cards"
    return f"give it {_alternatives(valid)} cards, with tensor_parallel_size to match: {nearest(count, valid)} is nearest"


def c2_tensor_size(me: Candidate) -> Iterator[Said]:
    """C2: the model can be divided over that many cards."""
    tensor, model = me.tenant.tensor, me.model
    if tensor is None:
        yield skipped(f"{me.engine.id} does not divide layers over cards, or the size was refused")
    elif model is None:
        yield skipped("the template names no model")
    elif not (valid := valid_sizes(me)):
        yield skipped(f"it is not known how {model.id} can be divided")
    elif tensor in valid:
        yield holds(f"{model.id} takes {listed(valid)}")
    else:
        message = f"tensor_parallel_size {tensor}: {model.id} can be divided over {_alternatives(valid)} cards only"
        hint = f"set tensor_parallel_size: {nearest(tensor, valid)}, the nearest that works, with as many cards"
        yield Finding("C2", me.name, ("set", "tensor_parallel_size"), message, hint)


def valid_sizes(me: Candidate) -> tuple[int, ...]:
    """Tensor parallel sizes that the model takes: as its profile lists them, else those that divide its attention heads."""
    if me.model is None:
        return ()
    if me.model.valid_tp is not None:
        return me.model.valid_tp
    heads = me.model.architecture.query_heads
    return () if heads is None else tuple(size for size in _SIZES if heads % size == 0)


def nearest(size: int, valid: Sequence[int]) -> int:
    """The valid size nearest to this one; of two that are as near, the smaller."""
    return min(valid, key=lambda other: (abs(other - size), other))


def _alternatives(valid: Sequence[int]) -> str:
    return " or ".join((", ".join(map(str, valid[:-1])), str(valid[-1]))) if len(valid) > 1 else str(valid[0])


_SIZES: Final = tuple(range(1, 17))

RULES: Final = (
    Rule(
        "C1",
        "as many cards as the parallel sizes and the template need",
        Severity.ERROR,
        "vLLM and SGLang start one worker a card, and stop where there are too few (`World size ... is larger than ...`)",
        "make `gpus` as long as tensor_parallel_size x pipeline_parallel_size",
        alone=c1_card_count,
    ),
    Rule(
        "C2",
        "a tensor parallel size that the model can be divided by",
        Severity.ERROR,
        "the attention heads must be divisible by it (`Total number of attention heads ... must be divisible`)",
        "take the nearest size that the model has",
        alone=c2_tensor_size,
    ),
)
