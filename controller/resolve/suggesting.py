"""Which templates suit a kind of use on a rig: each is resolved as the only instance and ranked by what the rules say of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from controller.model.document import Document, Plain
from controller.model.problem import Problem, Severity
from controller.model.profile_workload import WorkloadProfile
from controller.model.resolved import Resolved, ResolvedInstance
from controller.resolve import Surroundings, resolve
from controller.resolve.card_types import card_types
from controller.resolve.estate_text import EntryText
from controller.resolve.fitting import card_count
from controller.resolve.measured import Setup, Speed, are_linked, cards_with, measurements, speed_of
from controller.resolve.profiles import Profiles
from controller.resolve.template import Template, read_template
from controller.resolve.workload_fit import suits

HISTORICAL: Final = "historical/"
"""Ids of templates that have a successor: they are there for estates that name them."""
STATUSES: Final = ("production", "production_with_caveats", "preview", "experimental", "blocked")
"""How far a template is proven, best first."""
_OVERLAY: Final = "overlay"
_IN_THE_WAY: Final = frozenset({"G11", "G13", _OVERLAY})
"""An image that is gone, a template that is blocked, an overlay whose files are not to be had."""
_FIRST_PORT: Final = 8010
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME: Final = 39


@dataclass(frozen=True, slots=True)
class Caveat:
    """A warning about one template on this rig; `rule` is a rule of the solver or what else the warning is about."""

    rule: str
    text: str

    @property
    def is_in_the_way(self) -> bool:
        """Whether somebody has to bring something, or to wait for it, before the engine can start."""
        return self.rule in _IN_THE_WAY


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A template that can run; `cards` are the indices that it was given, `context` the tokens of one request."""

    template: str
    model: str
    engine: str
    status: str
    cards: tuple[int, ...]
    context: int | None
    speed: Speed | None
    caveats: tuple[Caveat, ...]
    made_for_it: bool
    entry: EntryText

    @property
    def rank(self) -> tuple[float, ...]:
        """Smaller is better: what can start as it is, fewest warnings, the longest context, the highest measured speed, the
        best proven, those made for the use.
        """
        speed = self.speed.tokens_per_second if self.speed else 0.0
        held_up = any(caveat.is_in_the_way for caveat in self.caveats)
        status = STATUSES.index(self.status)
        return held_up, len(self.caveats), -(self.context or 0), -speed, status, not self.made_for_it


@dataclass(frozen=True, slots=True)
class Refusal:
    """A template that suits the use and cannot run on this rig, with the first thing that keeps it from doing so."""

    template: str
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Best first; `refused` are those that the rig does not suit."""

    ranked: tuple[Suggestion, ...]
    refused: tuple[Refusal, ...]


def suggestions(workload: WorkloadProfile, model: str | None, profiles: Profiles, around: Surroundings) -> Suggestions:
    """Every template of a certain model that suits the use; `model` narrows them to one."""
    ranked, refused = [], []
    for template in _candidates(workload, model, profiles):
        found = _tried(template, workload, profiles, around)
        if isinstance(found, Suggestion):
            ranked.append(found)
        else:
            refused.append(found)
    return Suggestions(tuple(sorted(ranked, key=lambda one: (*one.rank, one.template))), tuple(refused))


def _candidates(workload: WorkloadProfile, model: str | None, profiles: Profiles) -> Iterator[Template]:
    for identifier in profiles.catalogue.ids("composes"):
        if identifier.startswith(HISTORICAL):
            continue
        template = read_template(identifier, profiles).template
        if template is None or template.steward.model is None or model not in (None, template.steward.model):
            continue
        if suits(template, workload):
            yield template


def _tried(template: Template, workload: WorkloadProfile, profiles: Profiles, around: Surroundings) -> Suggestion | Refusal:
    entry = entry_of(template)
    outcome = resolve([_estate({**entry.keys, "gpus": _any_cards(template, around)})], profiles.catalogue, around, "")
    if not isinstance(outcome, Resolved):
        worst = next(problem for problem in outcome if problem.severity is Severity.ERROR)
        return Refusal(template.identifier, worst.rule, worst.message)
    instance = outcome.instances[0]
    cards = cards_with(instance.binding.uuids if instance.binding else (), around.cards)
    context = instance.parameters.get("max_model_len")
    model = template.ingredients.model
    return Suggestion(
        template=template.identifier,
        model=template.steward.model or "",
        engine=template.profile.id,
        status=template.steward.status,
        cards=tuple(card.index for card in cards),
        context=context if isinstance(context, int) else model.profile.max_context_tokens if model else None,
        speed=_speed(instance, profiles, around),
        caveats=tuple(_caveats(outcome.problems, instance)),
        made_for_it=template.steward.workload == workload.id,
        entry=replace(entry, keys={**entry.keys, "gpus": [card.index for card in cards]}),
    )


def entry_of(template: Template) -> EntryText:
    """An entry that uses a template on the first cards, at the port that it suggests."""
    steward = template.steward
    return EntryText(
        {
            "name": instance_name(steward.model or template.identifier.rpartition("/")[2]),
            "compose": template.identifier,
            "gpus": [*range(card_count(template))],
            "port": steward.suggested_port or _FIRST_PORT,
        }
    )


def instance_name(text: str) -> str:
    """The text as the name of an instance: `qwen3.6-27b` becomes `qwen3-6-27b`."""
    return _NO_NAME.sub("-", text.lower()).strip("-")[:_LONGEST_NAME].rstrip("-") or "engine"


def _any_cards(template: Template, around: Surroundings) -> Plain:
    """As many cards as it wants, whichever the rules like best; in pairs where there are some."""
    count = card_count(template)
    if not count:
        return []
    linked = "require" if template.steward.requires.nvlink else "prefer" if count > 1 and around.cards.nvlink else None
    return {"count": count} if linked is None else {"count": count, "nvlink": linked}


def _estate(entry: dict[str, Plain]) -> Document:
    return Document("the suggestion", {"estate": [entry]}, "")


def _speed(instance: ResolvedInstance, profiles: Profiles, around: Surroundings) -> Speed | None:
    cards = cards_with(instance.binding.uuids if instance.binding else (), around.cards)
    types = card_types(around.cards, profiles)
    if not cards or any(card.uuid not in types for card in cards):
        return None
    kv = instance.parameters.get("kv_cache_dtype")
    setup = Setup(
        instance.compose,
        tuple(types[card.uuid].id for card in cards),
        are_linked(cards, around.cards),
        kv if isinstance(kv, str) else None,
    )
    return speed_of(setup, measurements(profiles))


def _caveats(problems: tuple[Problem, ...], instance: ResolvedInstance) -> Iterator[Caveat]:
    """One for each rule that warns, and one for the overlays whose files nobody can bring but the user."""
    found: dict[str, Caveat] = {}
    for problem in problems:
        if problem.severity is Severity.WARNING:
            found.setdefault(problem.rule, Caveat(problem.rule, problem.message))
    yield from found.values()
    if lacking := [need for need in instance.payloads if need.payload is None and need.remedy]:
        names = ", ".join(need.name for need in lacking)
        yield Caveat(_OVERLAY, f"files of overlays are not to be had: {names}; for the first, {lacking[0].remedy}")
