"""The `rig` block with its defaults."""

from __future__ import annotations

import re
from typing import Final

from controller.model.problem import Problem
from controller.model.resolved import ResolvedRig
from controller.resolve.estate import Estate

RULE: Final = "rig"
STAGGER_S: Final = 15.0
"""Between two boots on real cards, whose load phases otherwise compete for disk and RAM."""
_CARD: Final = re.compile(r"default|\d{1,2}|GPU-[0-9a-fA-F-]{4,36}")


def resolved_rig(estate: Estate, *, simulated: bool, report: list[Problem]) -> ResolvedRig:
    """The rig as it will be held to."""
    rig = estate.rig
    _check(estate, report)
    stagger = rig.boot.stagger
    return ResolvedRig(
        name=rig.name,
        mode=rig.mode,
        boot=rig.boot,
        stagger=stagger if stagger is not None else 0.0 if simulated else STAGGER_S,
        formerly=rig.formerly,
        paths=rig.paths,
        power_limit_w=dict(rig.power_limit_w),
        drain=estate.defaults.drain,
    )


def _check(estate: Estate, report: list[Problem]) -> None:
    document = estate.rig_document
    if document is None:
        return
    for key in sorted(estate.rig.paths.model_fields_set):
        value = getattr(estate.rig.paths, key)
        if not value.startswith("/") or ":" in value or "${" in value:
            hint = "write the whole path, such as /srv/models"
            path = ("rig", "paths", key)
            report.append(document.problem(path, RULE, f"{value!r} is no absolute host path without : and $", hint))
    for card in estate.rig.power_limit_w:
        if not _CARD.fullmatch(card):
            hint = "use default, an index in quotes, or a UUID"
            path = ("rig", "power_limit_w", card)
            report.append(document.problem(path, RULE, f"{card} is no card", hint, at_key=True))
    if estate.rig.name in estate.rig.formerly:
        report.append(document.problem(("rig", "formerly"), RULE, f"{estate.rig.name} is the rig's name now", "remove it"))
