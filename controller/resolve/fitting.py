"""Whether a template can be run at all: some rig of cards that the catalogue knows has to suit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from controller.model.document import Document, Plain
from controller.model.problem import Problem, Severity
from controller.model.profile import HardwareProfile
from controller.model.reading import Known
from controller.model.resolved import Resolved
from controller.model.rig import Card, RigFacts
from controller.resolve import Surroundings, resolve
from controller.resolve.profiles import Profiles
from controller.resolve.template import Template, read_template

RULE: Final = "catalogue"
_UNPROVEN: Final = ("preview", "experimental")
"""Of such a template nobody says that it runs, so that it is only worth a warning when it cannot."""
_NAME: Final = "any"
_PORT: Final = 8000


def template_problems(identifier: str, profiles: Profiles, hardware: Sequence[HardwareProfile]) -> Iterator[Problem]:
    """What is wrong with a template itself; where it is right, why it suits no rig of equal cards, linked in pairs."""
    read = read_template(identifier, profiles)
    template, catalogue = read.template, profiles.catalogue
    yield from read.problems
    if template is None or template.steward.status == "blocked":
        return
    refusals = []
    for profile in sorted(hardware, key=lambda profile: (-profile.memory_gib, profile.id)):
        outcome = resolve([_estate(template)], catalogue, Surroundings(_rig(template, profile), simulated=True), "")
        if isinstance(outcome, Resolved):
            return
        refusals.append([problem for problem in outcome if problem.severity is Severity.ERROR])
    severity = Severity.WARNING if template.steward.status in _UNPROVEN else Severity.ERROR
    for problem in min(refusals, key=len, default=[]):
        message = f"no rig suits this template; the nearest one is refused: {problem.message} [{problem.rule}]"
        yield template.document.problem(("x-steward",), RULE, message, problem.hint, severity=severity)


def _estate(template: Template) -> Document:
    cards: list[Plain] = [*range(card_count(template))]
    entry: Plain = {"name": _NAME, "compose": template.identifier, "gpus": cards, "port": _PORT}
    return Document("the check", {"estate": [entry]}, "")


def _rig(template: Template, profile: HardwareProfile) -> RigFacts:
    total, capability = Known(profile.usable_bytes), Known(float(profile.compute_capability))
    cards = tuple(
        Card(index, f"GPU-{index:08x}", profile.name, total, compute_capability=capability, profile=profile.id)
        for index in range(card_count(template))
    )
    links = tuple((index, index + 1) for index in range(0, len(cards) - 1, 2)) if profile.nvlink else ()
    return RigFacts(Known(cards), links)


def card_count(template: Template) -> int:
    """The cards that it wants."""
    if template.steward.requires.gpus is not None:
        return template.steward.requires.gpus
    sizes = [template.parameters.get(name) for name in ("tensor_parallel_size", "pipeline_parallel_size")]
    count = 1
    for size in sizes:
        count *= size.default if size is not None and isinstance(size.default, int) else 1
    return count
