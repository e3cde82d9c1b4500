"""Whether a new revision may take force: mass removal needs the estate's own word, a half-written file some time. Pure."""

from __future__ import annotations

from controller.model.observed import Container
from controller.model.problem import Problem, Severity
from controller.model.resolved import Resolved
from controller.model.snapshot import Snapshot


def mass_change(new: Resolved, containers: tuple[Container, ...]) -> Problem | None:
    """A problem when the revision's removals would stop more than half of the running instances, or the last one.

    Instances that the estate names in `allow_prune` do not count as removed. It needs a container list that was really read:
    while there is none, no revision takes force.
    """
    running = _running(new, containers)
    removed = sorted(running - {instance.name for instance in new.instances})
    unconfirmed = [name for name in removed if name not in new.allow_prune]
    stays = running - set(removed)
    too_many = len(removed) * 2 > len(running) or not stays
    if not unconfirmed or not too_many:
        return None
    names = ", ".join(removed)
    return Problem(
        Severity.ERROR,
        "mass-change",
        f"this revision removes {len(removed)} of {len(running)} running instances ({names}); nothing was stopped",
        f"if that is meant, add `allow_prune: [{names}]` to the estate; `steward down` stops instances without removing them",
    )


def may_be_half_written(new: Resolved, snapshot: Snapshot, containers: tuple[Container, ...]) -> bool:
    """Whether a valid revision looks like a moment of a save that goes on: what runs is missing, or a last line has no end.

    A file cut between two entries, or in the middle of its last number, is valid YAML; so is a folder without one of its files.
    """
    missing = _running(new, containers) - {instance.name for instance in new.instances}
    return bool(missing) or not all(file.data.endswith((b"\n", b"\r")) for file in snapshot.of("estate"))


def _running(new: Resolved, containers: tuple[Container, ...]) -> set[str]:
    ours = (c for c in containers if c.identity and c.identity.rig == new.rig.name)
    return {c.identity.instance for c in ours if c.running and c.identity}
