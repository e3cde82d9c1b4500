"""Which way of speculative decoding an instance uses."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from controller.model.profile_words import DrafterMethod
from controller.solver.candidate import Candidate

METHOD: Final = "spec_method"
_MTP: Final = frozenset({DrafterMethod.MTP, DrafterMethod.MTP_ASSISTANT, DrafterMethod.MTP_GGUF})
_SPELLINGS: Final[Mapping[str, frozenset[DrafterMethod]]] = MappingProxyType(
    {**{method.value: frozenset({method}) for method in DrafterMethod}, DrafterMethod.MTP.value: _MTP}
)


def methods(me: Candidate) -> frozenset[DrafterMethod]:
    """What the instance's method may be: one where a drafter is named, else all that its word stands for; none without one."""
    if me.drafting is not None:
        return frozenset({me.drafting.method})
    written = (me.text(METHOD) or "").lower()
    return _MTP if written.endswith("_mtp") else _SPELLINGS.get(written, frozenset())


def predicts_ahead(me: Candidate) -> bool:
    """Whether the model's own heads, or an assistant of it, propose the tokens."""
    return bool(methods(me) & _MTP)


def is_block_drafter(me: Candidate) -> bool:
    """Whether a block-diffusion drafter proposes the tokens, which does not look at them in order."""
    return DrafterMethod.DFLASH in methods(me)
