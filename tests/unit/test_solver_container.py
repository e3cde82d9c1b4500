"""G1, G2, G4, G5, G11 and G13: the container around an engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from controller.model.profile_engine import Availability, AvailabilityState, Pin
from controller.model.reading import Known, Unknown
from controller.model.verdict import Outcome
from controller.solver import Candidate, HostFacts, RigView
from tests.unit.judging import GIB, TWO, Case, Group, candidate, holds_case, llama, model, overlay, rig, serving, vllm, weights

WHOLE: Final = "GPU-5157e3a0-0000-4000-8000-000000000000"
LATER: Final = vllm(image="vllm/vllm-openai:v0.33.0", version="0.33.0")
NIGHTLY: Final = vllm(image="vllm/vllm-openai:nightly", version=None)


def seeing(value: str) -> dict[str, Any]:
    """An environment with CUDA_VISIBLE_DEVICES."""
    return {"env": {"CUDA_VISIBLE_DEVICES": value}}


G1: Final = Group("G1")
G1.passes("not set", candidate(), "the engine sees the cards of the container")
G1.passes("numbers", candidate(TWO, **seeing("1,0")), "CUDA_VISIBLE_DEVICES=1,0")
G1.passes("a UUID for llama.cpp", candidate(engine=llama(), **seeing(WHOLE)))
G1.edge("a whole UUID for vLLM 0.33", Outcome.HOLDS, candidate(engine=LATER, **seeing(WHOLE)))
G1.edge("a cut UUID for vLLM 0.33", Outcome.BROKEN, candidate(engine=LATER, **seeing("GPU-5157e3a0")))
G1.edge("the last card of the instance", Outcome.HOLDS, candidate(TWO, **seeing("1")))
G1.fails("a UUID for vLLM 0.27", candidate(**seeing(WHOLE)), "vLLM before 0.33 expects numbers there")
G1.fails("a UUID for vLLM of unknown version", candidate(engine=NIGHTLY, **seeing(WHOLE)), f"holds the UUID {WHOLE}")
G1.fails(
    "a UUID from an overlay", candidate(overlays=(overlay("cards", env={"CUDA_VISIBLE_DEVICES": WHOLE}),)), "holds the UUID"
)
G1.fails(
    "a number of the host", candidate(**seeing("1")), "names card 1: in the container the 1 card of the instance count from 0"
)
G1.fails("nothing", candidate(**seeing("")), "hides every card")


def flags(*words: str) -> dict[str, Any]:
    """Flags from `extra_args`."""
    return {"flags": words, "parameters": {"extra_args": words}}


def with_help(one: Candidate) -> RigView:
    """The same where the image's help was read."""
    return rig(one, known_flags={one.image: frozenset({"--seed", "--language-model-only"})})


G2: Final = Group("G2")
G2.passes("no flag", candidate(), "no flag beyond the parameters")
G2.passes("flags of the image's help", with_help(candidate(**flags("--seed", "1"))), "the image knows --seed")
G2.edge("a negative number is no flag", Outcome.HOLDS, with_help(candidate(**flags("--seed=1", "-1"))))
G2.fails("a flag that the help does not list", with_help(candidate(**flags("--seeed", "1"))), "does not know --seeed")
G2.fails("a template's flag that is unknown", with_help(candidate(flags=("--fast",))), "does not know --fast")
G2.fails("an own flag without the help", candidate(**flags("--seed", "1")), "--seed: not checked here", Outcome.NOTES)
G2.skips("a template's flag without the help", candidate(flags=("--language-model-only",)), "help of the image was not read")

G4: Final = Group("G4")
G4.passes("a digest", candidate(image=f"vllm/vllm-openai@sha256:{'a' * 64}"), "named by its digest")
G4.passes("a version", candidate(), "tag v0.27.1: its owner may move it", Outcome.NOTES)
G4.edge("a nightly build by its commit", Outcome.NOTES, candidate(image="vllm/vllm-openai:nightly-bf610c2f"))
G4.edge("a build by its number", Outcome.NOTES, candidate(engine=llama()))
G4.fails("latest", candidate(image="registry:5000/vllm/vllm-openai:latest"), "the tag latest, which moves", Outcome.WARNS)
G4.fails("no tag", candidate(image="registry:5000/vllm/vllm-openai"), "no tag, so that it is :latest", Outcome.WARNS)
G4.fails("a word", candidate(image="vllm/vllm-openai:gemma4-unified"), "gemma4-unified, which moves", Outcome.WARNS)
G4.fails("a toolkit's version alone", candidate(image="vllm/vllm-openai:cu130-nightly"), "cu130-nightly", Outcome.WARNS)
G4.skips("no image", candidate(image=""), "no image is named")
G4.skips("a word that is no reference", candidate(image="NO"), "no image reference")

MIB: Final = 2**20
ON_CPU: Final = serving((), model(weights={"gguf": weights(size_gb=16.0)}, default_weights="gguf"), "gguf", engine=llama())


def hosted(one: Candidate, *, ram: int | None = None, shm: int | None = None) -> RigView:
    """The same on a host of which that is known, in GiB."""
    unread = Unknown("not read")
    return rig(one, host=HostFacts(Known(ram * GIB) if ram else unread, Known(shm * MIB) if shm else unread))


G5: Final = Group("G5")
G5.passes("one card", candidate(), "one process")
G5.passes("the host's shared memory", hosted(candidate(TWO, ipc_host=True), shm=32768), "32 GiB of the host's")
G5.passes("weights in the host's memory", hosted(ON_CPU, ram=64), "14.9 GiB of 64 GiB")
G5.edge("exactly 1 GiB", Outcome.HOLDS, candidate(TWO, shm_bytes=GIB))
G5.edge("a little less", Outcome.BROKEN, candidate(TWO, shm_bytes=1023 * MIB), "has 1023 MiB of it")
G5.fails("what Docker gives", candidate(TWO), "has Docker's 64 MiB of it: they need 1 GiB")
G5.fails("a small /dev/shm of the host", hosted(candidate(TWO, ipc_host=True), shm=512), "which has 0.5 GiB")
G5.fails("weights too large for the host", hosted(ON_CPU, ram=8), "14.9 GiB of weights are to stand in the host's memory")
G5.fails("more moved to the host than it has", hosted(candidate(flags=("--cpu-offload-gb=32",)), ram=16), "32 GiB of weights")
G5.skips("a host that was not read", candidate(TWO, ipc_host=True), "/dev/shm of the host: not read")
G5.skips("memory that was not read", ON_CPU, "memory of the host: not read")


def had(state: AvailabilityState, day: str | None = "2026-05-29", **changes: Any) -> Candidate:
    """An engine whose image is known to be there, or not to be."""
    return candidate(engine=vllm(availability=Availability(state=state, as_of=day), **changes))


G11: Final = Group("G11")
G11.passes("seen in the registry", had(AvailabilityState.AVAILABLE), "seen on 2026-05-29")
G11.edge("available on an unknown day", Outcome.HOLDS, had(AvailabilityState.AVAILABLE, None))
G11.fails("gone from the registry", had(AvailabilityState.PURGED), "no longer be pulled since 2026-05-29", Outcome.WARNS)
G11.fails(
    "gone, with a successor", had(AvailabilityState.PURGED, pin=Pin(successor="vllm-later")), "runs only where", Outcome.WARNS
)
G11.skips("nobody looked", had(AvailabilityState.UNKNOWN), "nobody looked")
G11.skips("another image", replace(had(AvailabilityState.PURGED), image="mine:1"), "knows nothing of this image")

G13: Final = Group("G13")
G13.passes("production", candidate(template_status="production"), "proven")
G13.passes("experimental", candidate(template_status="experimental", template_note="slow"), "experimental: slow", Outcome.NOTES)
G13.edge("proven with caveats", Outcome.NOTES, candidate(template_status="production_with_caveats"), "production with caveats")
G13.fails(
    "blocked", candidate(template_status="blocked", template_note="waits for a change"), "is blocked: waits", Outcome.WARNS
)
G13.skips("no word of it", candidate(), "does not say how far it is proven")

CASES: Final = (*G1.cases, *G2.cases, *G4.cases, *G5.cases, *G11.cases, *G13.cases)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """Given an instance, when it is judged, then the rule says what the case says."""
    holds_case(case)
