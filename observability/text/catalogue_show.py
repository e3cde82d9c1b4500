"""`steward catalog show` for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from controller.model.document import Plain
from controller.resolve.estate_text import flow
from observability.catalogue_show import ParameterDocument, ProfileDocument, TemplateDocument
from observability.text.catalogue import shown
from observability.text.cells import UNKNOWN, Cell, Color, clean, columns, cut, paint, table, wrapped
from observability.text.units import count

_NEEDS: Final[Mapping[str, str]] = {
    "tp": "tensor parallel {}",
    "pp": "pipeline parallel {}",
    "compute_capability": "compute capability {}",
    "fallback_compute_capability": "or {} by slower kernels",
    "min_vram_gib": "{} GiB a card",
    "features": "features {}",
    "nvlink": "NVLink",
    "contiguous": "cards in a row",
}
_LABEL: Final = 10
_USERS_SHOWN: Final = 12


def template_text(document: TemplateDocument, *, width: int, color: bool) -> str:
    """What it is and needs, its parameters, overlays, limits and measurements, and an entry to begin with."""
    lines = [paint(cut(clean(f"{document['id']}: {document['note'] or document['status']}"), width), Color.BOLD, on=color)]
    for label, text in _facts(document):
        lines += _labelled(label, text, width)
    lines += _section("parameters", _parameters(document["parameters"], width, color=color), color=color)
    lines += _section("overlays", _listed(document["overlays"], width), color=color)
    lines += _section("limits", list(_limits(document["limits"], width)), color=color)
    lines += _section("measured", _measurements(document["measurements"], width, color=color), color=color)
    lines += _section("in an estate", document["estate"].splitlines(), color=color)
    return "\n".join(lines) + "\n"


def _facts(document: TemplateDocument) -> Iterator[tuple[str, str]]:
    engine, model, weights = document["engine"], document["model"], document["weights"]
    yield "status", document["status"]
    yield "file", document["file"]
    seen = f", {engine['availability']}" if engine["availability"] else ""
    seen += f" ({engine['as_of']})" if seen and engine["as_of"] else ""
    yield "engine", f"{engine['id']}: {engine['type']}, {engine['image'] or 'every instance names its image'}{seen}"
    if model is not None:
        context = model["max_context_tokens"]
        yield "model", f"{model['id']}, {'' if context is None else f'{context} tokens, '}family {model['family']}"
    if weights is not None:
        parts = [weights["format"], f"{shown(weights['size_gb'])} GB" if weights["size_gb"] else None, weights["status"]]
        yield "weights", f"{weights['id']}: {', '.join(str(part) for part in parts if part)}"
        yield from (("", text) for text in (weights["repository"], weights["note"]) if isinstance(text, str) and text)
    yield from ((key, text) for key, text in (("drafter", document["drafter"]), ("workload", document["workload"])) if text)
    yield "needs", _needs(document["requires"])


def _needs(requires: Mapping[str, Plain]) -> str:
    cards = requires["gpus"]
    parts = [count(cards, "card") if isinstance(cards, int) else "cards"]
    parts += [phrase.format(shown(requires[key])) for key, phrase in _NEEDS.items() if requires.get(key)]
    return ", ".join(parts)


def _parameters(parameters: Sequence[ParameterDocument], width: int, *, color: bool) -> list[str]:
    if not parameters:
        return []
    rows = [[Cell(head, Color.BOLD) for head in ("PARAMETER", "DEFAULT", "BOUNDS", "SET", "FROM")]]
    for one in parameters:
        default = UNKNOWN if one["default"] is None else flow(one["default"])
        settable = Cell("yes") if one["settable"] else Cell("no", Color.FAINT)
        rows.append([Cell(one["name"]), Cell(default), Cell(_bounds(one)), settable, Cell(one["place"] or UNKNOWN)])
    return table(rows, width, color=color)


def _bounds(one: ParameterDocument) -> str:
    low, high = one["min"], one["max"]
    if low is None and high is None:
        return UNKNOWN
    return f"up to {high}" if low is None else f"{low} to {high}" if high is not None else f"from {low}"


def _listed(overlays: Iterable[Mapping[str, Plain]], width: int) -> list[str]:
    rows = [[Cell(str(overlay["id"])), Cell(clean(str(overlay["title"])))] for overlay in overlays]
    return table(rows, width, color=False) if rows else []


def _limits(limits: Iterable[Mapping[str, Plain]], width: int) -> Iterator[str]:
    for limit in limits:
        most = limit["card_memory_gib_max"]
        cards = f" (cards of up to {shown(most)} GiB)" if most else ""
        yield from wrapped(f"{limit['id']}: {clean(str(limit['title']))}{cards}", width)
        ways = limit["way_out"]
        for way in ways if isinstance(ways, list) else ():
            yield from _indented(clean(str(way)), width)


def _measurements(rows: Sequence[Mapping[str, Plain]], width: int, *, color: bool) -> list[str]:
    if not rows:
        return []
    heads = ("CARDS", "NVLINK", "KV", "CONTEXT", "PROSE TOK/S", "CODE TOK/S", "TIMED", "SEEN")
    keys = ("cards", "nvlink", "kv_format", "context", "prose", "code", "timing", "as_of")
    cells = [[Cell(shown(row[key])) for key in keys] for row in rows]
    return table([[Cell(head, Color.BOLD) for head in heads], *cells], width, color=color)


def profile_text(document: ProfileDocument, *, width: int, color: bool) -> str:
    """The profile as it is written, and who uses it."""
    head = f"{document['id']} ({document['kind']}), {document['file']}"
    lines = [paint(cut(clean(head), width), Color.BOLD, on=color), "", *_block(document["data"], width, "")]
    users = document["used_by"]
    if users:
        shown_users = ", ".join(users[:_USERS_SHOWN]) + (f" and {len(users) - _USERS_SHOWN} more" * (len(users) > _USERS_SHOWN))
        lines += ["", *_labelled("used by", shown_users, width)]
    return "\n".join(lines) + "\n"


def _block(value: Plain, width: int, indent: str) -> Iterator[str]:
    """Mappings over several lines as far as they do not fit on one; texts wrapped."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _item(f"{indent}{key}:", inner, width, indent)
    elif isinstance(value, list):
        for inner in value:
            yield from _item(f"{indent}-", inner, width, indent)


def _item(head: str, value: Plain, width: int, indent: str) -> Iterator[str]:
    text = clean(value) if isinstance(value, str) else flow(value)
    if columns(head) + 1 + columns(text) <= width:
        yield f"{head} {text}"
        return
    yield head
    if isinstance(value, dict | list):
        yield from _block(value, width, f"{indent}  ")
    else:
        yield from (f"{indent}  {line}" for line in wrapped(text, width - len(indent) - 2))


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    for number, line in enumerate(wrapped(clean(text), max(width - _LABEL, 20))):
        yield f"{label if not number else '':<{_LABEL}}{line}"


def _indented(text: str, width: int) -> Iterator[str]:
    yield from (f"  {line}" for line in wrapped(text, width - 2))


def _section(title: str, lines: Sequence[str], *, color: bool) -> list[str]:
    return ["", paint(title, Color.BOLD, on=color), *lines] if lines else []
