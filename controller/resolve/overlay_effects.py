"""What overlays do to a container: read-only mounts, variables, a chat template, and steps before the engine starts. Pure."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from controller.model.payload import OverlayUse, Payload, PayloadNeed, part_of, payload_of
from controller.model.problem import Problem
from controller.model.resolved import ContainerSpec, Mount, Origin
from controller.resolve.declared import Declared
from controller.resolve.environment import Variable
from controller.resolve.origins import OVERLAY
from controller.resolve.overlay_content import PutOn
from controller.resolve.template import Template

if TYPE_CHECKING:
    from controller.model.overlay import Step

START: Final = "/etc/steward/start.sh"
"""Where the script stands in the container that carries out the steps and then becomes the engine."""
STEP_FAILED: Final = 78
"""Its exit code when a step fails: EX_CONFIG of sysexits.h."""
_SHORT: Final = 8

_SCRIPT: Final = """\
#!/bin/sh
# Written by Steward: puts overlays on in their order, then becomes the engine.

failed() {
    if [ "$2" = warn ]; then
        echo "steward: overlay $1: step failed with $3, going on without it" >&2
        return
    fi
    echo "steward: overlay $1: step failed with $3" >&2
    exit %d
}

step() {
    overlay=$1 policy=$2
    shift 2
    echo "steward: overlay $overlay: $*"
    code=0
    "$@" || code=$?
    [ "$code" = 0 ] || failed "$overlay" "$policy" "$code"
}

exports() {
    echo "steward: overlay $1: reads $3"
    [ -r "$3" ] || failed "$1" "$2" 1
    [ ! -r "$3" ] || . "$3" || failed "$1" "$2" $?
}

%s
# Words that a script of exports found out belong behind the engine's own arguments.
exec %s "$@" $STEWARD_ENGINE_ARGS
"""


@dataclass(frozen=True, slots=True)
class Dressed:
    """A container with its overlays, and the script that starts it, where there are steps."""

    spec: ContainerSpec
    script: Payload | None = None


def overlay_variables(overlays: Sequence[PutOn]) -> Iterator[Variable]:
    """What they set in the environment; what a template or an entry sets comes upon it. Of two, the later one counts."""
    for put_on in overlays:
        for name, value in put_on.overlay.env.items():
            yield Variable(name, value.replace("$", "$$"), put_on.record.place(("env", name)), OVERLAY)


def with_chat_template(template: Template, overlays: Sequence[PutOn]) -> Template:
    """The template with the overlays' chat template as the default of that parameter, where it gives none itself."""
    chosen = [put_on for put_on in overlays if put_on.overlay.chat_template]
    below = template.parameters.get("chat_template") or Declared("chat_template", settable=False)
    if not chosen or "chat_template" not in template.dialect.supported or below.default is not None:
        return template
    last = chosen[-1]
    place = last.record.place(("chat_template",))
    declared = replace(below, default=last.overlay.chat_template, place=place, source=OVERLAY)
    return replace(template, parameters={**template.parameters, "chat_template": declared})


def with_overlays(spec: ContainerSpec, overlays: Sequence[PutOn], entrypoint: tuple[str, ...]) -> Dressed:
    """The container with the overlays' files, and, where they have steps, with the script in front of `entrypoint`."""
    steps = [(put_on.overlay.id, step) for put_on in overlays for step in put_on.overlay.steps]
    script = start_script(steps, entrypoint) if steps else None
    mounts = {mount.target: mount for mount in spec.mounts} | {mount.target: mount for mount in _mounts(overlays)}
    if script is not None:
        mounts[START] = Mount(script.source(posixpath.basename(START)), START, read_only=True)
        spec = replace(spec, entrypoint=("sh", START))
    return Dressed(replace(spec, mounts=tuple(mounts[target] for target in sorted(mounts))), script)


def _mounts(overlays: Sequence[PutOn]) -> Iterator[Mount]:
    for put_on in overlays:
        if put_on.payload is None:
            continue
        for file in put_on.overlay.files:
            yield Mount(put_on.payload.source(file.path), put_on.overlay.place_of(file), read_only=True)
        if put_on.overlay.tree is not None:
            yield Mount(put_on.payload.source(), put_on.overlay.tree.target, read_only=True)


def start_script(steps: Sequence[tuple[str, Step]], entrypoint: Sequence[str]) -> Payload:
    """The script that carries out the steps of overlays, each with the overlay's id, and then becomes the engine."""
    lines = "\n".join(_line(overlay, step) for overlay, step in steps)
    text = _SCRIPT % (STEP_FAILED, lines, shlex.join(entrypoint))
    return payload_of([part_of(posixpath.basename(START), text.encode())])


def _line(overlay: str, step: Step) -> str:
    if step.exports is not None:
        return shlex.join(("exports", overlay, step.on_failure, step.exports))
    return shlex.join(("step", overlay, step.on_failure, *(step.run or ())))


def engine_entrypoint(template: Template, spec: ContainerSpec, overlays: Sequence[PutOn]) -> tuple[str, ...] | Problem:
    """What the container starts after the steps: the template's entrypoint, else the image's own as the profile knows it."""
    if spec.entrypoint is not None:
        return spec.entrypoint
    if template.profile.entrypoint is not None:
        return template.profile.entrypoint
    first = next((put_on.overlay.id for put_on in overlays if put_on.overlay.steps), None)
    if first is None:
        return ()
    message = f"overlay {first} has steps before the engine starts, and nothing tells what starts the engine"
    hint = f"write entrypoint: [...] of the image into engine profile {template.profile.id}, or into the template's service"
    return template.document.problem(("x-steward", "engine"), "overlay", message, hint)


def overlay_origins(overlays: Sequence[PutOn]) -> dict[str, Origin]:
    """As `explain` shows them: the mechanism with the beginning of the content's digest."""
    return {f"overlays.{p.overlay.id}": Origin(_shown(p), p.place, p.source) for p in overlays}


def _shown(put_on: PutOn) -> str:
    mechanism = put_on.overlay.mechanism.value if put_on.overlay.mechanism else "unknown"
    if put_on.payload is not None:
        return f"{mechanism} {put_on.payload.key[:_SHORT]}"
    return f"{mechanism}, its files are not there" if put_on.lacking else mechanism


def uses_of(overlays: Sequence[PutOn]) -> tuple[OverlayUse, ...]:
    """What is looked for in the container after its boot."""
    return tuple(OverlayUse(p.overlay.id, p.overlay.sentinel, p.overlay.target_files) for p in overlays)


def needs_of(overlays: Sequence[PutOn], script: Payload | None) -> tuple[PayloadNeed, ...]:
    """The files that have to be there before the container is made."""
    needs = [_need(put_on) for put_on in overlays if put_on.payload is not None or put_on.lacking]
    return (*needs, *((PayloadNeed("start script", script),) if script else ()))


def _need(put_on: PutOn) -> PayloadNeed:
    payload, identifier = put_on.payload, put_on.overlay.id
    if payload is None:
        return PayloadNeed(identifier, None, put_on.lacking, put_on.place)
    remedy = "" if payload.at_hand else f"run `steward overlays fetch {identifier}`"
    return PayloadNeed(identifier, payload, remedy, put_on.place)
