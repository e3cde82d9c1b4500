"""Overlays against each other and against the build that they are put on: G8 and G12."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from controller.model.problem import Severity
from controller.solver.candidate import Candidate
from controller.solver.known import listed, own_image
from controller.solver.rule import Rule, Said, holds, skipped
from controller.solver.tenant import Finding

if TYPE_CHECKING:
    from controller.model.overlay import Conflict, Overlay

_PATH: Final = ("overlays",)
_SHOWN: Final = 2
_NOT_TOGETHER: Final = {
    "exclusive": "take each other's place",
    "same_symptom": "treat the same fault in two ways",
}
_OTHER_BUILD: Final = {
    "engine_drift": "was made for another build",
    "pin_allowlist": "does not list this build among those that it is made for",
}


def g8_conflicts(me: Candidate) -> Iterator[Said]:
    """G8: overlays go together, and with the engine."""
    if not me.overlays:
        yield skipped("no overlay is put on")
        return
    pairs = [finding for one, two in combinations(me.overlays, 2) for finding in _pair(me, one, two)]
    builds = [finding for overlay in me.overlays for finding in _on_build(me, overlay)]
    yield from (*pairs, *builds) or (holds(f"{listed(one.id for one in me.overlays)}"),)


def _pair(me: Candidate, one: Overlay, two: Overlay) -> Iterator[Finding]:
    """The gravest thing between two overlays, once."""
    said = [conflict for conflict in (*_against(one, two.id), *_against(two, one.id)) if conflict.kind in _NOT_TOGETHER]
    hint = f'take one of them off: write overlays: ["-{two.id}"] or ["-{one.id}"]'
    if said:
        detail = f": {said[0].detail}" if said[0].detail else ""
        message = f"overlays {one.id} and {two.id} {_NOT_TOGETHER[said[0].kind]}{detail}"
        yield Finding("G8", me.name, _PATH, message, hint)
    elif files := _fought_over(one, two):
        shown = listed(files[:_SHOWN]) + (f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else "")
        message = f"overlays {one.id} and {two.id} both change {shown}, and what one lays over a file the other cannot change"
        yield Finding("G8", me.name, _PATH, message, hint)


def _against(overlay: Overlay, other: str) -> Sequence[Conflict]:
    return [conflict for conflict in overlay.conflicts if conflict.with_ == other]


def _fought_over(one: Overlay, two: Overlay) -> list[str]:
    """Files that one of them hides behind its own while the other changes or hides them too."""
    hidden = (one.laid_over & frozenset(two.target_files)) | (two.laid_over & frozenset(one.target_files))
    places = frozenset(map(one.place_of, one.files)) & frozenset(map(two.place_of, two.files))
    return sorted(hidden | places)


def _on_build(me: Candidate, overlay: Overlay) -> Iterator[Finding]:
    for conflict in _against(overlay, me.engine.id):
        if conflict.kind in _OTHER_BUILD and not own_image(me):
            detail = f": {conflict.detail}" if conflict.detail else ""
            message = f"overlay {overlay.id} {_OTHER_BUILD[conflict.kind]} ({me.engine.id}){detail}"
            hint = f'watch the first boot, or take it off: write overlays: ["-{overlay.id}"]'
            yield Finding("G8", me.name, _PATH, message, hint, Severity.WARNING)


def g12_needed(me: Candidate) -> Iterator[Said]:
    """G12: what engine and template need is put on, and what this build has anyway is known to be superfluous."""
    on = {overlay.id for overlay in me.overlays}
    found = [*_missing(me, on), *_taken_off(me), *_superfluous(me)]
    if found:
        yield from found
    elif not me.overlays and not me.removed_overlays:
        yield skipped("no overlay is put on")
    else:
        yield holds(listed(sorted(on)))


def _missing(me: Candidate, on: set[str]) -> Iterator[Finding]:
    off = {overlay.id for overlay in me.removed_overlays}
    for needed in me.engine.required_overlays:
        if needed not in on | off:
            message = f"engine {me.engine.id} counts on the overlay {needed}, which is not put on"
            yield Finding("G12", me.name, _PATH, message, f"write overlays: [{needed}]", Severity.WARNING)


def _taken_off(me: Candidate) -> Iterator[Finding]:
    for overlay in me.removed_overlays:
        if _is_needed(me, overlay) and not is_redundant(me, overlay):
            proven = {"proven": "proven to be needed", "unproven": "not proven to be needed"}.get(overlay.load_bearing, "")
            message = f"overlay {overlay.id} is taken off, and {me.engine.id} is among the builds that it is for"
            tail = f" ({proven})" if proven else ""
            yield Finding("G12", me.name, _PATH, message + tail, f'remove "-{overlay.id}" from overlays', Severity.WARNING)


def _is_needed(me: Candidate, overlay: Overlay) -> bool:
    if overlay.load_bearing == "not-on-this-topology" or me.tensor < (overlay.min_tp or 1):
        return False
    return me.engine.id in overlay.needed_for or overlay.id in me.engine.required_overlays


def _superfluous(me: Candidate) -> Iterator[Finding]:
    for overlay in me.overlays:
        if is_redundant(me, overlay):
            message = f"overlay {overlay.id} changes nothing on {me.engine.id}, which has it already"
            yield _note(me, overlay, message)
        elif overlay.min_tp is not None and me.tensor < overlay.min_tp:
            message = f"overlay {overlay.id} is of use from tensor_parallel_size {overlay.min_tp} on"
            yield _note(me, overlay, message)


def _note(me: Candidate, overlay: Overlay, message: str) -> Finding:
    return Finding("G12", me.name, _PATH, message, f'to leave it out, write overlays: ["-{overlay.id}"]', Severity.INFO)


def is_redundant(me: Candidate, overlay: Overlay) -> bool:
    """Whether the build has what the overlay brings: its record says so, or every change that it carries is in the pin.

    A template is never superfluous: the image may hold it, and the overlay is what chooses it.
    """
    if own_image(me) or overlay.chat_template is not None:
        return False
    contained = () if me.engine.pin is None else me.engine.pin.contains
    return me.engine.id in overlay.redundant_for or (bool(overlay.rows) and set(overlay.rows) <= set(contained))


RULES: Final = (
    Rule(
        "G8",
        "overlays that go together, and with the build",
        Severity.ERROR,
        "a file that one overlay lays over the image's own is read-only for the other; two cures of one fault undo each other",
        'take one off (`overlays: ["-id"]`)',
        alone=g8_conflicts,
    ),
    Rule(
        "G12",
        "overlays that are needed, and no others",
        Severity.WARNING,
        "an overlay's record lists the builds that need it and those that have its change already",
        "put it back on, or leave it out",
        alone=g12_needed,
    ),
)
