"""What an engine build can do: C6 to C10, and C15."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.problem import Severity
from controller.model.profile_words import DialectName
from controller.solver.candidate import Candidate
from controller.solver.drafting import METHOD, methods
from controller.solver.known import about_image, by_profile, listed
from controller.solver.kv import kv_format
from controller.solver.rule import Rule, Said, holds, notes, skipped
from controller.solver.tenant import Finding

_NO_MODEL: Final = "the template names no model"
_NO_DRAFTER: Final = "no drafter is used"
_BUNDLE: Final = "genesis"
"""The overlay that is the bundle, where the engine's profile does not name another one."""


def c6_patch_bundle(me: Candidate) -> Iterator[Said]:
    """C6: the third-party patch bundle is put on where the model, or its KV format, needs it."""
    model = me.model
    if me.engine.type is not DialectName.VLLM:
        yield skipped("only vLLM has a patch bundle")
    elif model is None:
        yield skipped(_NO_MODEL)
    elif not (model.patch_bundle_required or kv_format(me) in model.patch_bundle_kv_formats):
        yield holds(f"{model.id} does without it here")
    elif has_bundle(me):
        yield holds("it is put on")
    elif model.patch_bundle_required:
        message = f"{model.id} runs with the patch bundle only, and it is not put on"
        yield Finding("C6", me.name, ("overlays",), message, f"write overlays: [{bundle_of(me)}]")
    else:
        yield _format_without_bundle(me, model.id, model.patch_bundle_kv_formats)


def _format_without_bundle(me: Candidate, model: str, needing: tuple[str, ...]) -> Finding:
    chosen, bundle = kv_format(me), bundle_of(me)
    stand_ins = [one.id for one in me.overlays if any(c.kind == "same_symptom" and c.with_ == bundle for c in one.conflicts)]
    if stand_ins:
        message = f"{model} is proven with {chosen} KV and the patch bundle {bundle}; here {listed(stand_ins)} stands in for it"
        swap = ", ".join([bundle, *(f'"-{one}"' for one in stand_ins)])
        return Finding("C6", me.name, ("overlays",), message, f"to use the bundle, write overlays: [{swap}]", Severity.WARNING)
    message = f"{model} runs with {chosen} KV only when the patch bundle is put on, and it is not"
    other = next((one for one in me.engine.kv_formats or () if one not in needing), "auto")
    hint = f"write overlays: [{bundle}], or choose another KV format, such as {other}"
    return Finding("C6", me.name, ("overlays",), message, hint)


def bundle_of(me: Candidate) -> str:
    """The overlay that is the patch bundle of this engine."""
    return me.engine.feature_origin.get(str(kv_format(me)), _BUNDLE)


def has_bundle(me: Candidate) -> bool:
    """Whether a patch bundle is put on."""
    return any(overlay.mechanism == "patch_bundle" for overlay in me.overlays)


def c7_method(me: Candidate) -> Iterator[Said]:
    """C7: the engine has the drafter's method."""
    listing, written = me.engine.drafter_methods, me.text(METHOD)
    if written is None:
        yield skipped(_NO_DRAFTER)
    elif listing is None:
        yield skipped(f"it is not known which drafting methods {me.engine.id} has")
    elif not (known := methods(me)):
        yield skipped(f"{written} is no method that the catalogue knows")
    elif known.intersection(listing):
        yield holds(f"{me.engine.id} has {listed(sorted(known.intersection(listing)))}")
    else:
        who = f"drafter {me.drafting.id}" if me.drafting else f"{METHOD} {written}"
        has = f"has {listed(listing)}" if listing else "promises no drafting"
        message = f"{who} needs {' or '.join(sorted(known))}, and {me.engine.id} {has}{about_image(me)}"
        hint = "do without with set: {spec_method: null}, or take a template of another engine"
        yield Finding("C7", me.name, ("set", METHOD), message, hint, by_profile(me))


def c8_drafter_model(me: Candidate) -> Iterator[Said]:
    """C8: the drafter was made for this model."""
    drafter = me.drafting
    if drafter is None:
        yield skipped(_NO_DRAFTER)
    elif me.model is None:
        yield skipped(_NO_MODEL)
    elif me.model.id in drafter.models:
        yield holds(f"{drafter.id} is made for {listed(drafter.models)}")
    else:
        own = f"{me.model.id} has {listed(me.model.drafters)}" if me.model.drafters else "take a template without a drafter"
        message = f"drafter {drafter.id} is made for {listed(drafter.models)}, not for {me.model.id}"
        yield Finding("C8", me.name, ("compose",), message, own)


def c9_drafter_engine(me: Candidate) -> Iterator[Said]:
    """C9: the drafter runs on this type of engine."""
    drafter = me.drafting
    if drafter is None:
        yield skipped(_NO_DRAFTER)
    elif drafter.engine_type is None:
        yield holds(f"{drafter.id} is bound to no type of engine")
    elif drafter.engine_type is me.engine.type:
        yield holds(f"{drafter.id} runs on {drafter.engine_type}")
    else:
        message = f"drafter {drafter.id} runs on {drafter.engine_type} only, and {me.engine.id} is of type {me.engine.type}"
        yield Finding("C9", me.name, ("compose",), message, f"take a template of an engine of type {drafter.engine_type}")


def c10_family(me: Candidate) -> Iterator[Said]:
    """C10: the engine serves this family of models."""
    families = me.engine.families
    if me.model is None:
        yield skipped(_NO_MODEL)
    elif families is None:
        yield skipped(f"it is not known which families {me.engine.id} serves")
    elif families == "any" or me.model.family in families:
        yield holds(f"{me.engine.id} serves {me.model.family}")
    else:
        message = (
            f"{me.engine.id} serves {listed(families)}, and {me.model.id} is of the family {me.model.family}{about_image(me)}"
        )
        yield Finding("C10", me.name, ("compose",), message, "take a template of an engine that serves it", by_profile(me))


def c15_features(me: Candidate) -> Iterator[Said]:
    """C15: the engine has every feature that template and workload need."""
    workload = () if me.workload is None else me.workload.required_features
    needed = dict.fromkeys((*me.requires.features, *workload))
    if not needed:
        yield skipped("no feature is needed")
        return
    found = [one for feature in needed for one in _feature(me, feature)]
    absent = {origin for feature in needed if (origin := me.engine.feature_origin.get(feature))} - {
        one.id for one in me.overlays
    }
    if found:
        yield from found
    elif absent:
        yield notes(f"{me.engine.id} has {listed(needed)}, on record with {listed(sorted(absent))}, which is not put on here")
    else:
        yield holds(f"{me.engine.id} has {listed(needed)}")


def _feature(me: Candidate, feature: str) -> Iterator[Finding]:
    value = me.engine.features.get(feature, False)
    if value == "stable_only" and me.engine.channel != "stable":
        kind = me.engine.channel or "unnamed"
        message = f"the template needs {feature}, promised for releases of {me.engine.id} only, and this is its {kind} build"
        yield Finding("C15", me.name, ("compose",), message + about_image(me), "take a template of a release", by_profile(me))
    elif value is False:
        message = f"the template needs {feature}, which {me.engine.id} does not have{about_image(me)}"
        yield Finding("C15", me.name, ("compose",), message, "take a template of an engine that has it", by_profile(me))


RULES: Final = (
    Rule(
        "C6",
        "the patch bundle where model or KV format needs it",
        Severity.ERROR,
        "3-bit KV on a Qwen3-Next hybrid stops at long prompts without it: the model's profile has `patch_bundle_kv_formats`",
        "put the bundle's overlay on, or choose another KV format",
        alone=c6_patch_bundle,
    ),
    Rule(
        "C7",
        "a drafting method that the engine has",
        Severity.ERROR,
        "the engine's profile lists the methods of its image; any other stops it at boot",
        "another engine, or no drafter (`spec_method: null`)",
        alone=c7_method,
    ),
    Rule(
        "C8",
        "a drafter made for the model",
        Severity.ERROR,
        "a drafter's layers fit the hidden size and the vocabulary of one model",
        "one of the model's own drafters",
        alone=c8_drafter_model,
    ),
    Rule(
        "C9",
        "a drafter that runs on this type of engine",
        Severity.ERROR,
        "a head inside a GGUF file is of use to llama.cpp alone",
        "a template of the drafter's engine",
        alone=c9_drafter_engine,
    ),
    Rule(
        "C10",
        "a family of models that the engine serves",
        Severity.ERROR,
        "a build that does not know an architecture stops at boot (`Model architectures ... failed to be inspected`)",
        "a template of another engine",
        alone=c10_family,
    ),
    Rule(
        "C15",
        "every feature that template and workload need",
        Severity.ERROR,
        "a feature that an engine's profile does not have is not there; `stable_only` is a promise for releases alone",
        "an engine that has it",
        alone=c15_features,
    ),
)
