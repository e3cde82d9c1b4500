"""Small instances and rigs for tests of the solver's rules, and the cases that each rule is shown with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from controller.model.compose import Requires
from controller.model.overlay import Conflict, Overlay
from controller.model.parameters import PARAMETERS
from controller.model.profile import EngineProfile, HardwareProfile
from controller.model.profile_architecture import Architecture
from controller.model.profile_drafter import DrafterProfile
from controller.model.profile_model import ModelProfile, Weights
from controller.model.profile_words import DialectName, DrafterMethod, KvFormat, Maturity, WeightFormat
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card, RigFacts
from controller.model.verdict import Outcome
from controller.solver import Candidate, Finding, RigView, Tenant, TypedCard, judge
from controller.sources.rig_facts import simulated_uuid
from tests.unit.profiles import HARDWARE

GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that a rule is shown: what it is, and what the rule has to make of it.

    `kind` is passing, failing, boundary (the last value that passes, or the first that fails) or unknown (something that the
    rule needs is not there); `says` is a part of the verdict's text.
    """

    rule: str
    kind: str
    about: str
    outcome: Outcome
    view: RigView
    says: str = ""
    name: str = "chat"

    def __str__(self) -> str:
        """What a test's id shows."""
        return f"{self.rule}-{self.about.replace(' ', '-')}"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rule finds in this case, about whichever instance."""
        return tuple(finding for finding in judge(self.view).findings if finding.rule == self.rule)


@dataclass(frozen=True, slots=True)
class Group:
    """Cases of one rule, told in the order passing, boundary, failing, unknown."""

    rule: str
    cases: list[Case] = field(default_factory=list)

    def add(
        self, kind: str, about: str, outcome: Outcome, view: RigView | Candidate, says: str = "", name: str = "chat"
    ) -> None:
        """One more."""
        whole = rig(view) if isinstance(view, Candidate) else view
        self.cases.append(Case(self.rule, kind, about, outcome, whole, says, name))

    def passes(self, about: str, view: RigView | Candidate, says: str = "", outcome: Outcome = Outcome.HOLDS) -> None:
        """The rule has nothing against it."""
        self.add("passing", about, outcome, view, says)

    def edge(self, about: str, outcome: Outcome, view: RigView | Candidate, says: str = "") -> None:
        """The last value on one side, or the first on the other."""
        self.add("boundary", about, outcome, view, says)

    def fails(
        self, about: str, view: RigView | Candidate, says: str = "", outcome: Outcome = Outcome.BROKEN, name: str = "chat"
    ) -> None:
        """The rule has something against it."""
        self.add("failing", about, outcome, view, says, name)

    def skips(self, about: str, view: RigView | Candidate, says: str) -> None:
        """The rule has nothing to look at, and says why."""
        self.add("unknown", about, Outcome.SKIPPED, view, says)


def holds_case(case: Case) -> None:
    """The rule makes of a case what the case says, and is asked about nobody but the instances that are there."""
    verdicts = [one for one in judge(case.view).verdicts if (one.rule, one.instance) == (case.rule, case.name)]
    assert [one.outcome for one in verdicts] == [case.outcome], verdicts
    assert case.says in verdicts[0].text, verdicts[0].text


def card(index: int, profile: str | None = "rtx-3090", **changes: Any) -> TypedCard:
    """A card with what a file of facts says of its type; without a profile a driver's words alone."""
    known: HardwareProfile | None = None if profile is None else HARDWARE[profile]
    plain = Card(index, simulated_uuid(index), "Some Card" if known is None else known.name)
    if known is not None:
        reading = Known(float(known.compute_capability))
        plain = replace(plain, memory_total=Known(known.usable_bytes), compute_capability=reading, profile=profile)
    return TypedCard(replace(plain, **changes), known)


def cards(*profiles: str) -> tuple[TypedCard, ...]:
    """Cards of these types, indices from 0."""
    return tuple(card(index, profile) for index, profile in enumerate(profiles))


ONE: Final = cards("rtx-3090")
TWO: Final = cards("rtx-3090", "rtx-3090")
UNREAD: Final = Unknown("cards not readable: NVML is not loaded")


def rig(*candidates: Candidate, links: tuple[tuple[int, int], ...] = (), **more: Any) -> RigView:
    """Instances on the cards that they have between them."""
    held = {
        one.card.uuid: one for candidate in candidates if isinstance(candidate.cards, Known) for one in candidate.cards.value
    }
    unread = any(isinstance(candidate.cards, Unknown) for candidate in candidates)
    table: Reading[tuple[Card, ...]] = (
        Unknown("NVML is not loaded") if unread else Known(tuple(one.card for one in held.values()))
    )
    types = {uuid: one.profile for uuid, one in held.items() if one.profile is not None}
    return RigView(candidates, RigFacts(table, links), types, **more)


def candidate(
    on: tuple[TypedCard, ...] | Unknown = ONE,
    *,
    name: str = "chat",
    port: int = 8010,
    running: bool = True,
    claims: Mapping[str, Any] | None = None,
    requires: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Candidate:
    """An instance of vLLM 0.27.1 on one card, tensor parallel over all of its cards; `claims` change it as a claimant."""
    engine = changes.pop("engine", None) or vllm()
    count = 1 if isinstance(on, Unknown) else len(on)
    divides = engine.type in (DialectName.VLLM, DialectName.SGLANG)
    tenant = Tenant(
        name,
        running,
        port,
        tuple(range(count)) if isinstance(on, Unknown) else tuple(one.card.index for one in on),
        tensor=max(count, 1) if divides else None,
        pipeline=1 if divides else None,
        cpu=engine.cpu,
        engine=engine.id,
    )
    plain = Candidate(
        replace(tenant, **(claims or {})),
        engine,
        Requires.model_validate(requires or {}),
        image=engine.image or "",
        cards=on if isinstance(on, Unknown) else Known(on),
        served_names=(name,),
        open_parameters=frozenset(PARAMETERS),
    )
    return replace(plain, **changes)


def vllm(**changes: Any) -> EngineProfile:
    """A release of vLLM."""
    plain: dict[str, Any] = {
        "id": "vllm-stable",
        "type": DialectName.VLLM,
        "image": "vllm/vllm-openai:v0.27.1",
        "channel": "stable",
        "version": "0.27.1",
        "min_compute_capability": 7.5,
        "families": ("dense", "qwen3-next-hybrid"),
        "kv_formats": (KvFormat.BF16, KvFormat.FP16, KvFormat.FP8_E4M3, KvFormat.FP8_E5M2),
        "drafter_methods": (DrafterMethod.MTP, DrafterMethod.DFLASH),
        "weight_formats": (WeightFormat.BF16, WeightFormat.AUTOROUND, WeightFormat.FP8, WeightFormat.AWQ),
    }
    return EngineProfile(**{**plain, **changes})


def llama(**changes: Any) -> EngineProfile:
    """A build of llama.cpp."""
    plain: dict[str, Any] = {
        "id": "llama-cpp-local",
        "type": DialectName.LLAMACPP,
        "image": "ghcr.io/ggml-org/llama.cpp:server-cuda-b10236",
        "cpu": True,
        "families": "any",
        "kv_formats": (KvFormat.FP16, KvFormat.BF16, KvFormat.Q8_0, KvFormat.Q4_0),
        "drafter_methods": (DrafterMethod.MTP_GGUF,),
        "weight_formats": (WeightFormat.GGUF,),
    }
    return EngineProfile(**{**plain, **changes})


def model(**changes: Any) -> ModelProfile:
    """A dense model of 24 heads with two exports of its weights."""
    plain: dict[str, Any] = {
        "id": "model-27b",
        "name": "Model 27B",
        "family": "dense",
        "max_context_tokens": 131072,
        "vision": False,
        "architecture": Architecture(layers=64, hidden_size=5120, query_heads=24),
        "weights": {"int4": weights(), "bf16": weights(format=WeightFormat.BF16, size_gb=54.0)},
        "default_weights": "int4",
        "drafters": ("model-mtp",),
        "valid_tp": (1, 2, 4),
    }
    return ModelProfile(**{**plain, **changes})


def weights(**changes: Any) -> Weights:
    """An export that every engine here loads."""
    plain: dict[str, Any] = {"format": WeightFormat.AUTOROUND, "size_gb": 17.5, "status": Maturity.PRODUCTION}
    return Weights(**{**plain, **changes})


def serving(
    on: tuple[TypedCard, ...] | Unknown = ONE, served: ModelProfile | None = None, chosen: str = "int4", **changes: Any
) -> Candidate:
    """An instance that serves a model of the catalogue."""
    what = served or model()
    return candidate(on, **{"model": what, "weights_id": chosen, "weights": what.variant(chosen), **changes})


def drafter(**changes: Any) -> DrafterProfile:
    """The model's own head."""
    plain: dict[str, Any] = {
        "id": "model-mtp",
        "name": "Head of Model 27B",
        "method": DrafterMethod.MTP,
        "models": ("model-27b",),
        "tokens_default": 3,
        "tokens_max": 4,
    }
    return DrafterProfile(**{**plain, **changes})


def drafting(on: tuple[TypedCard, ...] | Unknown = ONE, by: DrafterProfile | None = None, **changes: Any) -> Candidate:
    """An instance that serves a model with a drafter; the resolver has derived the parameters."""
    who = by or drafter()
    word = "dflash" if who.method is DrafterMethod.DFLASH else "mtp"
    given = {"spec_method": word, "spec_tokens": who.tokens_default, **changes.pop("parameters", {})}
    return serving(on, drafter=who, parameters=given, **changes)


def overlay(identifier: str, **changes: Any) -> Overlay:
    """A patch of one file that is laid over the image's own."""
    plain: dict[str, Any] = {
        "id": identifier,
        "title": identifier,
        "mechanism": "file_mounts",
        "source": "unavailable",
        "upstream": "none",
        "upstream_reason": "of the test",
    }
    return Overlay.model_validate({**plain, **changes})


def conflict(with_: str, kind: str, detail: str = "") -> Conflict:
    """Something that an overlay does not go with."""
    return Conflict.model_validate({"with": with_, "kind": kind, "detail": detail})
