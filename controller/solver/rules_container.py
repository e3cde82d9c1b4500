"""What a container is made of: G1, G2, G4, G11 and G13."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from controller.model.problem import Severity
from controller.model.profile_words import DialectName
from controller.model.wording import did_you_mean
from controller.solver.candidate import Candidate, RigView
from controller.solver.known import counted, listed, number_of, own_image, version_of
from controller.solver.rule import Rule, Said, holds, notes, skipped
from controller.solver.tenant import Finding

VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
_RESOLVES_UUIDS: Final = (0, 33, 0)
_IDENTIFIER: Final = re.compile(r"(?:GPU|MIG)-")
_WHOLE: Final = re.compile(r"GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PINNED: Final = re.compile(r"(?:^|[-_.])(?:v?\d+(?:\.\d+)*|b\d+|[0-9a-f]{7,40})(?:$|[-_.+])")


def g1_visible_devices(me: Candidate) -> Iterator[Said]:
    """G1: CUDA_VISIBLE_DEVICES names cards in a way that the engine understands, and cards that the container has."""
    found = [overlay.env[VISIBLE] for overlay in me.overlays if VISIBLE in overlay.env]
    value = me.env.get(VISIBLE, found[-1] if found else None)
    if value is None:
        yield holds("it is not set, so the engine sees the cards of the container")
        return
    tokens = [token.strip() for token in value.split(",") if token.strip()]
    faults = [*_by_identifier(me, tokens), *_by_number(me, tokens)]
    if faults:
        yield Finding("G1", me.name, ("env", VISIBLE), faults[0], f"remove {VISIBLE}: the cards are chosen by gpus alone")
    else:
        yield holds(f"{VISIBLE}={value}")


def _by_identifier(me: Candidate, tokens: list[str]) -> Iterator[str]:
    named = [token for token in tokens if _IDENTIFIER.match(token)]
    if not named or me.engine.type is not DialectName.VLLM:
        return
    version = version_of(me)
    if version is None or version < _RESOLVES_UUIDS:
        yield f"{VISIBLE} holds the UUID {named[0]}: vLLM before 0.33 expects numbers there and stops at boot"
    elif cut := [token for token in named if not _WHOLE.fullmatch(token)]:
        yield f"{VISIBLE} holds {cut[0]}, which is no whole UUID: vLLM stops at boot"


def _by_number(me: Candidate, tokens: list[str]) -> Iterator[str]:
    count = me.tenant.card_count
    beyond = [token for token in tokens if token.isdigit() and int(token) >= count]
    if not tokens and count:
        yield f"{VISIBLE} is empty, which hides every card from the engine"
    elif beyond and count:
        yield f"{VISIBLE} names card {beyond[0]}: in the container the {counted(count, 'card')} of the instance count from 0"


def g2_flags(me: Candidate, view: RigView) -> Iterator[Said]:
    """G2: the image knows every flag that no parameter stands for."""
    names = [name for flag in me.flags if (name := flag.partition("=")[0]).startswith("-") and number_of(name) is None]
    known = view.known_flags.get(me.image)
    own = me.parameters.get("extra_args", ())
    if not names:
        yield holds("no flag beyond the parameters")
    elif me.engine.type is DialectName.SIMULATED:
        yield skipped("the simulated engine comes with Steward and checks its flags itself")
    elif known is None:
        yield from _unchecked(me, [name for name in names if isinstance(own, tuple) and _stands_in(name, own)])
    elif unknown := [name for name in names if name not in known]:
        hint = did_you_mean(unknown[0], sorted(known)) or "remove it, or take another image"
        path = ("set", "extra_args") if isinstance(own, tuple) and _stands_in(unknown[0], own) else ("compose",)
        yield Finding("G2", me.name, path, f"{me.image} does not know {listed(unknown)}", hint)
    else:
        yield holds(f"the image knows {listed(names)}")


def _unchecked(me: Candidate, own: list[str]) -> Iterator[Said]:
    if own:
        message = f"{listed(own)}: not checked here, because the help of {me.image or 'the image'} was not read"
        yield Finding("G2", me.name, ("set", "extra_args"), message, severity=Severity.INFO)
    else:
        yield skipped("the help of the image was not read")


def _stands_in(name: str, flags: tuple[str, ...]) -> bool:
    return any(flag.partition("=")[0] == name for flag in flags)


def g4_image(me: Candidate) -> Iterator[Said]:
    """G4: the image is named so that it is the same one next time."""
    name, _, digest = me.image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if not me.image:
        yield skipped("no image is named")
    elif (repository := name.removesuffix(f":{tag}")) != repository.lower():
        yield skipped("it is no image reference")
    elif digest or name.startswith("sha256:"):
        yield holds("named by its digest")
    elif tag and _PINNED.search(tag):
        yield notes(f"tag {tag}: its owner may move it, which a digest prevents")
    else:
        what = f"the tag {tag}, which moves" if tag else "no tag, so that it is :latest"
        message = f"image {me.image} names no version: it has {what}, and the next pull may bring another build"
        hint = "name a version or a digest, such as repository:v1.2.3 or repository@sha256:..."
        yield Finding("G4", me.name, ("image",), message, hint, Severity.WARNING)


def g11_available(me: Candidate) -> Iterator[Said]:
    """G11: the image can still be pulled."""
    known = me.engine.availability
    if own_image(me) or not me.image:
        yield skipped("the catalogue knows nothing of this image")
    elif known.state == "purged":
        since = f" since {known.as_of}" if known.as_of else ""
        message = f"image {me.image} can no longer be pulled{since}: it runs only where a copy of it was kept"
        pin = me.engine.pin
        other = f"; {pin.successor} took its place" if pin is not None and pin.successor is not None else ""
        hint = f"keep the copy (docker save), or take a template of another engine{other}"
        yield Finding("G11", me.name, ("compose",), message, hint, Severity.WARNING)
    elif known.state == "available":
        yield holds(f"seen on {known.as_of}" if known.as_of else "available")
    else:
        yield skipped("nobody looked whether it can be pulled")


def g13_proven(me: Candidate) -> Iterator[Said]:
    """G13: the template is known to work."""
    note = f": {me.template_note}" if me.template_note else ""
    if not me.template_status:
        yield skipped("the template does not say how far it is proven")
    elif me.template_status == "blocked":
        message = f"the template is blocked{note}"
        yield Finding("G13", me.name, ("compose",), message, "take another template of the model", Severity.WARNING)
    elif me.template_status == "production":
        yield holds("proven")
    else:
        yield notes(f"{me.template_status.replace('_', ' ')}{note}")


RULES: Final = (
    Rule(
        "G1",
        "CUDA_VISIBLE_DEVICES that the engine understands",
        Severity.ERROR,
        "vLLM before 0.33 reads numbers there (`invalid literal for int()`); in a container cards count from 0",
        "leave it out: Steward hands the cards to the container by UUID",
        alone=g1_visible_devices,
    ),
    Rule(
        "G2",
        "flags that the image knows",
        Severity.ERROR,
        "an engine stops at a flag that it does not know; only the image's own help says which those are",
        "another spelling, or another image",
        in_rig=g2_flags,
    ),
    Rule(
        "G4",
        "an image that is the same one next time",
        Severity.WARNING,
        "`latest` and other moving tags bring another build with the next pull",
        "a version or a digest",
        alone=g4_image,
    ),
    Rule(
        "G11",
        "an image that can still be pulled",
        Severity.WARNING,
        "builds between releases are removed from the registry after some weeks",
        "keep a copy, or take an engine with a release",
        alone=g11_available,
    ),
    Rule(
        "G13",
        "a template that is known to work",
        Severity.WARNING,
        "`blocked` templates wait for a change in another project",
        "another template of the model",
        alone=g13_proven,
    ),
)
