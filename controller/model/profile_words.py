"""The words that profiles of several kinds share: engine types, formats, drafting methods, and what a number may be.

Each vocabulary is closed, so that a misspelt word is an error with the right one in its hint and two profiles that mean the
same thing say it alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from controller.model.fields import AsTuple, Texts


class DialectName(StrEnum):
    """The engine types that Steward speaks to."""

    VLLM = "vllm"
    LLAMACPP = "llamacpp"
    SGLANG = "sglang"
    GENERIC = "generic"
    SIMULATED = "simulated"


class KvFormat(StrEnum):
    """Formats of the KV cache; `k8v4` is q8_0 for keys and q4_0 for values."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    FP8_E5M2 = "fp8_e5m2"
    FP8_E4M3 = "fp8_e4m3"
    INT8_PER_TOKEN_HEAD = "int8_per_token_head"
    TURBOQUANT_3BIT_NC = "turboquant_3bit_nc"
    Q8_0 = "q8_0"
    Q5_1 = "q5_1"
    Q5_0 = "q5_0"
    Q4_1 = "q4_1"
    Q4_0 = "q4_0"
    IQ4_NL = "iq4_nl"
    K8V4 = "k8v4"


class WeightFormat(StrEnum):
    """How the weights of a model are stored; `safetensors` is said of parts that no engine loads alone."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    AUTOROUND = "autoround"
    AWQ = "awq"
    GPTQ = "gptq"
    COMPRESSED_TENSORS = "compressed-tensors"
    MODELOPT = "modelopt"
    MXFP4 = "mxfp4"
    GGUF = "gguf"
    SAFETENSORS = "safetensors"


class DrafterMethod(StrEnum):
    """How tokens are proposed ahead; `mtp_assistant` is a small model of its own, `mtp_gguf` a head in a GGUF file."""

    MTP = "mtp"
    MTP_ASSISTANT = "mtp_assistant"
    MTP_GGUF = "mtp_gguf"
    EAGLE3 = "eagle3"
    DFLASH = "dflash"
    DSPARK = "dspark"
    DRAFT_MODEL = "draft_model"
    NGRAM = "ngram"


class Maturity(StrEnum):
    """How far weights or a drafter are proven, best first; `community_experimental` is an export that nobody vouches for."""

    PRODUCTION = "production"
    EXPERIMENTAL = "experimental"
    COMMUNITY_EXPERIMENTAL = "community_experimental"
    HISTORICAL = "historical"


_AS_WRITTEN: Final[Mapping[str, str]] = MappingProxyType({})


def word(vocabulary: type[StrEnum], spellings: Mapping[str, str] = _AS_WRITTEN) -> BeforeValidator:
    """Turns a written text into its member; any other value is left for the validator to refuse."""

    members: dict[str, StrEnum] = {member.value: member for member in vocabulary}
    members |= {spelling: members[meant] for spelling, meant in spellings.items()}

    def member(value: Any) -> Any:
        return members.get(value, value) if isinstance(value, str) else value

    return BeforeValidator(member)


Dialect: TypeAlias = Annotated[DialectName, word(DialectName, {"llama.cpp": "llamacpp", "llama-cpp": "llamacpp"})]
Kv: TypeAlias = Annotated[KvFormat, word(KvFormat)]
WeightsFormat: TypeAlias = Annotated[WeightFormat, word(WeightFormat)]
Method: TypeAlias = Annotated[DrafterMethod, word(DrafterMethod)]
Proven: TypeAlias = Annotated[Maturity, word(Maturity)]

Dialects: TypeAlias = Annotated[tuple[Dialect, ...], AsTuple]
KvFormats: TypeAlias = Annotated[tuple[Kv, ...], AsTuple]
WeightFormats: TypeAlias = Annotated[tuple[WeightsFormat, ...], AsTuple]
Methods: TypeAlias = Annotated[tuple[Method, ...], AsTuple]
Families: TypeAlias = Literal["any"] | Texts

Amount: TypeAlias = Annotated[float, Field(gt=0, description="a number above 0")]
Share: TypeAlias = Annotated[float, Field(gt=0, lt=1, description="a number between 0 and 1")]
Capability: TypeAlias = Annotated[float, Field(ge=1, lt=100, description="a compute capability such as 8.6")]
Capabilities: TypeAlias = Annotated[tuple[Capability, ...], AsTuple]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Watts: TypeAlias = Annotated[int, Field(ge=1, description="a whole number of watts")]
Day: TypeAlias = Annotated[
    str, Field(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$", description="a day such as 2026-08-22, in quotes; or its month or year")
]
