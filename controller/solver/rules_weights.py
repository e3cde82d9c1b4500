"""Which weights are loaded: C14."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from controller.model.problem import Severity
from controller.solver.candidate import Candidate
from controller.solver.known import about_image, by_profile, capability, cards_of, cards_text, listed, no_cards
from controller.solver.rule import Rule, Said, holds, notes, skipped
from controller.solver.tenant import Finding

if TYPE_CHECKING:
    from controller.model.profile_model import Weights


def c14_weights(me: Candidate) -> Iterator[Said]:
    """C14: the model has these weights, the engine can load them, and so can every card."""
    model, weights = me.model, me.weights
    if model is None:
        yield skipped("the template names no model")
    elif weights is None and not me.weights_id:
        yield skipped(f"{model.id} has no weights on record")
    elif weights is None:
        message = f"{model.id} has no weights {me.weights_id}"
        yield Finding("C14", me.name, ("compose",), message, _choice(me))
    elif weights.role != "target":
        message = f"weights {me.weights_id} of {model.id} are a {weights.role}, not the model"
        yield Finding("C14", me.name, ("compose",), message, _choice(me))
    else:
        found = (*_format(me, weights), *_blocked(me, weights), *_proven(me, weights))
        yield from found or (_in_order(me, weights),)


def _choice(me: Candidate) -> str:
    names = [name for name, one in me.model.weights.items() if one.role == "target"] if me.model else []
    return f"it has {listed(names)}" if names else "the catalogue has none for it"


def _format(me: Candidate, weights: Weights) -> Iterator[Finding]:
    loadable = me.engine.weight_formats
    if loadable is not None and weights.format not in loadable:
        message = f"{me.engine.id} cannot load weights {me.weights_id}: they are {weights.format}{about_image(me)}"
        yield Finding("C14", me.name, ("compose",), message, f"it loads {listed(loadable)}", by_profile(me))


def _blocked(me: Candidate, weights: Weights) -> Iterator[Finding]:
    if weights.blocked is None:
        return
    held = [typed for typed in cards_of(me) if capability(typed) in weights.blocked.capabilities]
    if held:
        values = listed(sorted({capability(typed) for typed in held}, key=str))
        where = f"{cards_text(held)}, compute capability {values}"
        message = f"weights {me.weights_id} cannot be loaded on {where}: {weights.blocked.reason}"
        others = _other_weights(me)
        hint = f"take a template with weights {' or '.join(others)}" if others else "take other cards or another model"
        yield Finding("C14", me.name, ("compose",), message, hint)


def _other_weights(me: Candidate) -> list[str]:
    """Weights of the model that this engine loads on these cards, the best proven first."""
    if me.model is None:
        return []
    loadable, held = me.engine.weight_formats, {capability(typed) for typed in cards_of(me)}
    fitting = {
        name: one
        for name, one in me.model.weights.items()
        if one.role == "target"
        and (loadable is None or one.format in loadable)
        and not (one.blocked and held & set(one.blocked.capabilities))
    }
    return [name for name, one in fitting.items() if one.status == "production"] or list(fitting)


def _proven(me: Candidate, weights: Weights) -> Iterator[Finding]:
    said = {
        "historical": "are kept for older estates only",
        "community_experimental": "are an export that nobody vouches for",
    }.get(weights.status)
    if said is not None:
        yield Finding("C14", me.name, ("compose",), f"weights {me.weights_id} {said}", _own_choice(me), Severity.WARNING)


def _own_choice(me: Candidate) -> str:
    own = None if me.model is None else me.model.default_weights
    return "" if own is None or own.replace("-", "_") == me.weights_id else f"the model's own choice is {own}"


def _in_order(me: Candidate, weights: Weights) -> Said:
    known = me.engine.weight_formats is not None
    text = f"{me.weights_id}: {weights.format}, {weights.status}"
    if weights.blocked is not None and (why := no_cards(me)) is not None:
        return skipped(f"{text}; some cards cannot load them, and {why}")
    if not known:
        return skipped(f"{text}; it is not known which formats {me.engine.id} loads")
    return holds(text) if weights.status == "production" else notes(text)


RULES: Final = (
    Rule(
        "C14",
        "weights that engine and cards can load",
        Severity.ERROR,
        "an export may be blocked on a generation of cards although its format is known: the model's profile says which",
        "a template with other weights of the model",
        alone=c14_weights,
    ),
)
