"""Measurements against the rest of the catalogue: of each the template and the cards are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.model.problem import DocPath, Problem
from controller.model.profile_measurement import MeasurementsFile
from controller.resolve.measured import KIND, NAME
from controller.resolve.nearest import nearest
from controller.resolve.profiles import Profiles

RULE: Final = "catalogue"


def measurement_problems(profiles: Profiles) -> Iterator[Problem]:
    """Names in the list of measurements that lead nowhere."""
    found = profiles.get(KIND, NAME, MeasurementsFile)
    if found is None:
        return
    templates, cards = profiles.catalogue.ids("composes"), profiles.catalogue.ids("profiles/hardware")
    for position, row in enumerate(found.profile.measurements):
        named: list[tuple[str, str, DocPath, tuple[str, ...]]] = [("template", row.template, ("template",), templates)]
        named += [("hardware profile", card, ("cards", place), cards) for place, card in enumerate(row.cards)]
        for what, name, path, known in named:
            if name not in known:
                at = ("measurements", position, *path)
                yield found.document.problem(at, RULE, f"there is no {what} {name}", nearest(name, known, "there are"))
