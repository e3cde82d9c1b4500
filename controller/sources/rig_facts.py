"""The rig that `--rig` names without a driver: the simulated one, a file of facts, or a text such as `2x:rtx-3090:nvlink`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from controller.model.checking import check
from controller.model.document import Document
from controller.model.problem import DocPath, Problem, Severity, in_report_order
from controller.model.profile import NOMINAL_TO_USABLE, HardwareProfile
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import NOT_READ, Card, RigFacts
from controller.model.wording import did_you_mean, shortened
from controller.settings import Bounds
from controller.sources.rig_file import RULE, CardFacts, HostFacts, RigFile, contradictions
from controller.sources.stable_read import Unreadable, read_stable
from controller.sources.yaml_reader import read_document

if TYPE_CHECKING:
    from controller.ports import Catalogue

T = TypeVar("T")

SIMULATED_CARDS: Final = (CardFacts(profile="rtx-3090"), CardFacts(profile="rtx-3090"))
"""What `--rig sim` means."""
FORMS: Final = "expected auto, sim, sim:FILE, a file, or a text such as 2x:rtx-3090:nvlink+1x:rtx-5090"

_KIND: Final = "profiles/hardware"
_GROUP: Final = re.compile(r"([0-9]{1,3})x:([A-Za-z0-9][A-Za-z0-9._-]*)(:nvlink)?")
_MOST_CARDS: Final = 64
_NOT_GIVEN: Final = Unknown("the facts do not say")
_SIM: Final = "sim"


def rig_facts(text: str, catalogue: Catalogue, bounds: Bounds) -> RigFacts | tuple[Problem, ...]:
    """The cards of a `--rig` other than `auto`; problems have a place when they are in a file, else they are about the text."""
    if text == _SIM:
        return _Rig(text, SIMULATED_CARDS, (), simulated=True).facts(catalogue)
    if text.startswith(f"{_SIM}:"):
        return _from_file(text, text.removeprefix(f"{_SIM}:"), catalogue, bounds, simulated=True)
    if re.match(r"[0-9]+x:", text):
        return _from_grammar(text, catalogue)
    return _from_file(text, text, catalogue, bounds, simulated=False)


def simulated_uuid(index: int) -> str:
    """The fixed UUID of a card that no driver named."""
    return f"GPU-5157e3a0-0000-4000-8000-{index:012x}"


@dataclass(frozen=True, slots=True)
class _Rig:
    """Cards and links before their profiles are looked up; `document` is the file that they stand in, if one does."""

    text: str
    cards: Sequence[CardFacts]
    links: Sequence[tuple[int, int]]
    simulated: bool = False
    document: Document | None = None
    host: HostFacts = HostFacts()
    notes: tuple[str, ...] = ()

    def facts(self, catalogue: Catalogue) -> RigFacts | tuple[Problem, ...]:
        """The facts, or what is wrong with the profiles."""
        profiles: dict[str, HardwareProfile] = {}
        problems: list[Problem] = []
        for index, card in enumerate(self.cards):
            found = self._profile(index, card.profile, catalogue)
            if isinstance(found, HardwareProfile):
                profiles[card.profile] = found
            else:
                problems.extend(found)
        problems.extend(self._unlinkable(profiles))
        if problems:
            return in_report_order(problems)
        cards = tuple(self._card(index, facts, profiles[facts.profile]) for index, facts in enumerate(self.cards))
        return RigFacts(
            cards=Known(cards),
            nvlink=tuple(sorted(set(self.links))),
            driver=Known(self.host.driver) if self.host.driver else _NOT_GIVEN,
            cuda=_NOT_GIVEN,
            origin=self.text,
            notes=self.notes,
            ram=_bytes(self.host.ram_gib),
            shm=_bytes(self.host.shm_gib),
        )

    def _profile(self, index: int, name: str, catalogue: Catalogue) -> HardwareProfile | tuple[Problem, ...]:
        found = catalogue.find(_KIND, name)
        if found is None:
            known = catalogue.ids(_KIND)
            hint = did_you_mean(name, known) or f"known: {', '.join(known) or 'none'}"
            return (self._problem(("gpus", index, "profile"), f"there is no hardware profile `{shortened(name)}`", hint),)
        if isinstance(found, tuple):
            return found
        profile, problems = check(HardwareProfile, found)
        return profile or problems

    def _unlinkable(self, profiles: Mapping[str, HardwareProfile]) -> Iterator[Problem]:
        for position, pair in enumerate(self.links):
            for name in sorted({self.cards[index].profile for index in pair}):
                if name in profiles and not profiles[name].nvlink:
                    yield self._problem(("nvlink", position), f"cards of the type {name} have no NVLink", "leave it out")

    def _problem(self, path: DocPath, message: str, hint: str) -> Problem:
        return self.document.problem(path, RULE, message, hint) if self.document else _about(message, hint)

    def _card(self, index: int, facts: CardFacts, profile: HardwareProfile) -> Card:
        foreign = facts.foreign_mib * 2**20
        return Card(
            index=index,
            uuid=facts.uuid or simulated_uuid(index),
            name=profile.name,
            memory_total=Known(self._total(facts, profile)),
            memory_used=Known(foreign),
            processes=Known(()),
            compute_capability=Known(float(profile.compute_capability)),
            power_limit_watts=self._simulated(profile.power_limit_w.maximum),
            pcie_max_generation=self._simulated(profile.pcie.generation if profile.pcie else None),
            pcie_max_width=self._simulated(profile.pcie.lanes if profile.pcie else None),
            healthy=Known(True),
            profile=facts.profile,
            foreign_bytes=foreign,
        )

    def _simulated(self, value: T | None) -> Reading[T]:
        """What only a simulated driver reports out of the profile: a real card's own figure may be another."""
        return Known(value) if self.simulated and value is not None else NOT_READ

    def _total(self, facts: CardFacts, profile: HardwareProfile) -> int:
        """A simulated driver reports the nominal memory, a real one what the profile has measured."""
        nominal = facts.memory_gib or float(profile.memory_gib)
        if self.simulated:
            return int(nominal * 2**30)
        return profile.usable_bytes if nominal == profile.memory_gib else int(nominal * NOMINAL_TO_USABLE * 2**30)


def _bytes(gib: float | None) -> Reading[int]:
    return _NOT_GIVEN if gib is None else Known(int(gib * 2**30))


def _from_grammar(text: str, catalogue: Catalogue) -> RigFacts | tuple[Problem, ...]:
    cards: list[CardFacts] = []
    links: list[tuple[int, int]] = []
    for part in text.split("+"):
        group = _GROUP.fullmatch(part)
        if group is None:
            return (_about(f"`{shortened(part)}` is not understood", FORMS),)
        first, count = len(cards), int(group[1])
        if not 1 <= count <= _MOST_CARDS - first:
            return (_about(f"expected 1 to {_MOST_CARDS} cards, found {first + count}"),)
        if group[3] and count < 2:
            return (_about(f"`{part}`: NVLink joins two cards, found one", "leave :nvlink out"),)
        cards += [CardFacts(profile=group[2])] * count
        links += [(index, index + 1) for index in range(first, first + count - 1, 2)] if group[3] else []
    return _Rig(text, cards, links).facts(catalogue)


def _from_file(
    text: str, path: str, catalogue: Catalogue, bounds: Bounds, *, simulated: bool
) -> RigFacts | tuple[Problem, ...]:
    document = rig_document(path, bounds)
    if isinstance(document, tuple):
        return document
    rig, problems = check(RigFile, document)
    if rig is None or (problems := (*problems, *contradictions(rig, document))):
        return problems
    notes = ("`simulation` is used by --rig sim:FILE alone",) if rig.simulation and not simulated else ()
    links = [(min(pair), max(pair)) for pair in rig.nvlink]
    return _Rig(text, rig.gpus, links, simulated, document, rig.host, notes).facts(catalogue)


def rig_document(path: str, bounds: Bounds) -> Document | tuple[Problem, ...]:
    """The rig file as it is written, or why it cannot be read."""
    found = read_stable(Path(path), bounds.estate_file)
    if isinstance(found, Unreadable):
        shown = shortened(path)
        gone, unreadable = f"there is no rig file `{shown}`", f"`{shown}` cannot be read: {found.reason}"
        return (_about(gone if found.gone else unreadable, FORMS),)
    return read_document(path, found.data, bounds)


def _about(message: str, hint: str = "") -> Problem:
    """A problem of the text itself, which has no place."""
    return Problem(Severity.ERROR, RULE, message, hint)
