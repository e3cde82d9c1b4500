"""`steward catalog list` and `suggest` for a terminal. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from controller.resolve.suggesting import Refusal, Suggestion, Suggestions
from observability.catalogue import Row, Value
from observability.text.cells import UNKNOWN, Cell, Color, clean, table, wrapped
from observability.text.units import count, rate

COLUMNS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "composes": (
        ("COMPOSE", "id"),
        ("ENGINE", "engine"),
        ("MODEL", "model"),
        ("STATUS", "status"),
        ("CARDS", "gpus"),
        ("WORKLOAD", "workload"),
        ("NOTE", "note"),
    ),
    "models": (
        ("MODEL", "id"),
        ("FAMILY", "family"),
        ("CONTEXT", "max_context_tokens"),
        ("VISION", "vision"),
        ("DRAFTERS", "drafters"),
        ("WEIGHTS", "weights"),
    ),
    "engines": (
        ("ENGINE", "id"),
        ("TYPE", "type"),
        ("CHANNEL", "channel"),
        ("AVAILABILITY", "availability"),
        ("SEEN", "as_of"),
        ("IMAGE", "image"),
    ),
    "hardware": (
        ("CARD", "id"),
        ("NAME", "name"),
        ("GiB", "memory_gib"),
        ("CC", "compute_capability"),
        ("NVLINK", "nvlink"),
        ("ARCHITECTURE", "architecture"),
    ),
    "drafters": (
        ("DRAFTER", "id"),
        ("METHOD", "method"),
        ("TOKENS", "tokens_default"),
        ("STATUS", "status"),
        ("MODELS", "models"),
        ("NAME", "name"),
    ),
    "workloads": (
        ("WORKLOAD", "id"),
        ("NAME", "name"),
        ("REQUESTS", "max_num_seqs"),
        ("DRAFTER", "drafter"),
        ("NOTE", "note"),
    ),
    "overlays": (
        ("OVERLAY", "id"),
        ("MECHANISM", "mechanism"),
        ("SOURCE", "source"),
        ("TITLE", "title"),
        ("UPSTREAM", "upstream"),
    ),
    "limits": (
        ("LIMIT", "id"),
        ("ENGINES", "engine_types"),
        ("SYMPTOM", "symptom"),
        ("SEEN", "as_of"),
        ("TITLE", "title"),
    ),
}
"""The columns of each kind: heading and key."""
_COLORS: Final = {
    "purged": Color.BAD,
    "blocked": Color.BAD,
    "unavailable": Color.WARN,
    "experimental": Color.WARN,
    "preview": Color.WARN,
}
_REASONS_SHOWN: Final = 3


def catalogue_text(rows: Sequence[Row], kind: str, *, width: int, color: bool) -> str:
    """A row for each document."""
    if not rows:
        return f"the catalogue has no {kind}\n"
    heads = [Cell(head, Color.BOLD) for head, _ in COLUMNS[kind]]
    lines = [[_cell(row[key]) for _, key in COLUMNS[kind]] for row in rows]
    return "\n".join(table([heads, *lines], width, color=color)) + "\n"


def _cell(value: Value) -> Cell:
    text = shown(value)
    return Cell(text, _COLORS.get(text, Color.NONE))


def shown(value: object) -> str:
    """A value in a cell."""
    if value is None or value == "" or value == []:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else clean(str(value))


def suggestions_text(found: Suggestions, rig: str, most: int, *, width: int, color: bool) -> str:
    """The best as a table with why each stands where it does, what the rig does not suit, and the warnings about the first."""
    best = found.ranked[:most]
    lines = []
    if best:
        heads = [Cell(head, Color.BOLD) for head in ("COMPOSE", "MODEL", "GPUS", "CONTEXT", "TOK/S", "STATUS", "WHY HERE")]
        above = (None, *best)
        lines += table([heads, *(_row(one, before) for one, before in zip(best, above, strict=False))], width, color=color)
        lines += _more(found, most)
        lines += _warnings(best[0], width)
    lines += wrapped(_refused(found.refused, rig), width)
    return "\n".join(lines) + "\n"


def _row(one: Suggestion, above: Suggestion | None) -> list[Cell]:
    return [
        Cell(one.template),
        Cell(one.model),
        Cell(",".join(map(str, one.cards))),
        Cell(UNKNOWN if one.context is None else str(one.context), right=True),
        Cell(rate(one.speed.tokens_per_second if one.speed else None), right=True),
        Cell(one.status, _COLORS.get(one.status, Color.NONE)),
        Cell(_why(one, above), Color.WARN if one.caveats else Color.NONE),
    ]


def _why(one: Suggestion, above: Suggestion | None) -> str:
    """What it has against it, and what puts it behind the one above."""
    rules = ", ".join(caveat.rule for caveat in one.caveats)
    verdict = f"{count(len(one.caveats), 'warning')}: {rules}" if one.caveats else "no warning"
    return f"{verdict}; {_standing(one, above)}"


def _standing(one: Suggestion, above: Suggestion | None) -> str:
    if above is None:
        return "the best"
    reasons = ("it cannot start as it is", "more warnings", "less context", "", "less proven", "made for another use")
    step = next((n for n, (mine, before) in enumerate(zip(one.rank, above.rank, strict=True)) if mine != before), None)
    if step is None:
        return "as good, by name"
    if reasons[step]:
        return reasons[step]
    return "slower" if one.speed else "no measurement on such cards"


def _more(found: Suggestions, most: int) -> Iterator[str]:
    if (rest := len(found.ranked) - most) > 0:
        yield f"and {rest} more: --count {len(found.ranked)} shows them"


def _warnings(best: Suggestion, width: int) -> Iterator[str]:
    for caveat in best.caveats:
        yield from wrapped(f"{best.template}: warning: {clean(caveat.text)} [{caveat.rule}]", width)


def _refused(refused: Sequence[Refusal], rig: str) -> str:
    if not refused:
        return ""
    rules = Counter(refusal.rule for refusal in refused)
    examples = {refusal.rule: refusal for refusal in reversed(refused)}
    reasons = [
        f"{number} by {rule} (such as {examples[rule].template}: {clean(examples[rule].text)})"
        for rule, number in rules.most_common(_REASONS_SHOWN)
    ]
    return f"{count(len(refused), 'template')} would suit the use and not the rig {rig}: {'; '.join(reasons)}"
