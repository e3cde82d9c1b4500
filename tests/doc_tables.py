"""The generated parts of the docs. `python -m tests.doc_tables` writes them anew; a test holds them fresh."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from controller.cli.main import EXIT_CODES, GLOBAL_FLAGS, parser_of
from controller.cli.verbs import ALSO, VERBS, module_of
from controller.dialects import common_failures, llamacpp_log, sglang_log, vllm_log
from controller.dialects.boot_log import Failure
from controller.dialects.registry import DIALECTS
from controller.model.parameters import PARAMETERS
from controller.model.track import FaultClass
from controller.solver import NEVER_WAIVED, RULES
from observability.metrics import Metrics
from tests import script_tables
from tests.unit.shown import STATUS

ROOT: Final = Path(__file__).parent.parent
BLOCK: Final = re.compile(r"(<!-- generated: ([a-z ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
OWN_REASONS: Final = {
    "BootStalled": ("nothing moved for `boot.stall`", "stalls"),
    "BootTimeout": ("not ready after `boot.cap`", "stalls"),
    "ExitedUnexpectedly": ("it ended, and its log names no known reason; the message has its last line", "stalls"),
    "EngineError": ("it ended with an error that Steward does not know; the message has it", "stalls"),
    "CreateRefused": ("Docker refuses to create the container", "stalls"),
    "StartRefused": ("Docker refuses to start it", "stalls"),
}
"""Reasons that do not come from an engine's phrases."""


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(heads), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def parameters() -> str:
    """Every parameter that an engine type of this version has."""
    rows = []
    for row in PARAMETERS.values():
        engines = sorted(name.value for name in row.dialects if name in DIALECTS)
        if engines:
            rows.append(
                (f"`{row.name}`", row.expected, "all" if len(engines) == len(DIALECTS) else ", ".join(engines), row.about)
            )
    return table(("parameter", "value", "engine types", "what it is"), rows)


def parser(name: str) -> argparse.ArgumentParser:
    """The parser of a verb."""
    return parser_of(name, module_of(name))


def own_arguments(name: str) -> Iterator[argparse.Action]:
    """What only this verb takes."""
    shared = {f"--{flag}" for flag in GLOBAL_FLAGS} | {"--help"}
    return (action for action in parser(name)._actions if shared.isdisjoint(action.option_strings))


def shown(action: argparse.Action) -> str:
    """An argument as one writes it."""
    value = "|".join(map(str, action.choices)) if action.choices else str(action.metavar or "")
    if not action.option_strings:
        return {"*": f"[{value}...]", "+": f"{value}...", "?": f"[{value}]"}.get(str(action.nargs), value)
    value = "" if action.nargs == 0 else f"[{value}]" if action.nargs == "?" else value
    return f"{', '.join(action.option_strings)} {value}".strip()


def verbs() -> str:
    """One row a verb, with its plain arguments."""
    rows = []
    for name, text in VERBS.items():
        plain = [shown(action) for action in own_arguments(name) if not action.option_strings]
        also = [f", also `steward {other}`" for other, meant in ALSO.items() if meant == name]
        rows.append((f"`{' '.join(['steward', name, *plain])}`{''.join(also)}", text))
    return table(("verb", "what it does"), rows)


def flags() -> str:
    """One row a flag."""
    rows = [
        (f"`{name}`", f"`{shown(action)}`", str(action.help))
        for name in VERBS
        for action in own_arguments(name)
        if action.option_strings
    ]
    return table(("verb", "flag", "meaning"), rows)


def global_flags() -> str:
    """The flags that every verb takes."""
    rows = ((f"`--{flag}`", f"`STEWARD_{flag.upper()}`", text) for flag, text in GLOBAL_FLAGS.items())
    return table(("flag", "environment", "meaning"), rows)


def exit_codes() -> str:
    """What each exit code says."""
    return table(("code", "meaning"), ((str(code), text) for code, text in EXIT_CODES.items()))


def reasons() -> str:
    """Every reason that a boot's log can give, once, then those that Steward gives itself."""
    tables = {"vllm": vllm_log.TABLES, "llamacpp": llamacpp_log.TABLES, "sglang": sglang_log.TABLES}
    sources = [("all", common_failures.COMMON), *((name, (*t.causes, *t.tails)) for name, t in tables.items())]
    found: dict[str, tuple[set[str], Failure]] = {}
    for engine, failures in sources:
        for failure in failures:
            found.setdefault(failure.reason, (set(), failure))[0].add(engine)
    rows = [
        (f"`{reason}`", "all" if "all" in engines else ", ".join(sorted(engines)), _message(failure), _then(failure.fault))
        for reason, (engines, failure) in sorted(found.items())
    ]
    rows += [(f"`{reason}`", "all", text, then) for reason, (text, then) in OWN_REASONS.items() if reason not in found]
    return table(("reason", "engine types", "the message, with figures for the dots", "then"), rows)


def _message(failure: Failure) -> str:
    return re.sub(r"(\{[a-z]+\})+", "…", failure.message)


def _then(fault: FaultClass) -> str:
    return "waits" if fault is FaultClass.ENVIRONMENT else "stalls"


def metrics() -> str:
    """Every family of the exposition; labels beside `rig`."""
    recorder = Metrics()
    recorder.show(STATUS)
    rows = []
    for family in recorder.collect():
        name = family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")
        labels = [label for label in getattr(family, "_labelnames", ()) if label != "rig"]
        rows.append((f"`{name}`", family.type, ", ".join(labels), family.documentation))
    return table(("metric", "type", "labels", "meaning"), rows)


def rules() -> str:
    """One row a rule of the solver."""
    never = {name: f"**{name}**" for name in NEVER_WAIVED}
    rows = ((never.get(one.id, one.id), one.title, one.severity.value, one.evidence, one.way_out) for one in RULES)
    return table(("rule", "what must be so", "at most", "why", "way out"), rows)


BLOCKS: Final[dict[str, Callable[[], str]]] = {
    "parameters": parameters,
    "rules": rules,
    "verbs": verbs,
    "flags": flags,
    "global flags": global_flags,
    "exit codes": exit_codes,
    "reasons": reasons,
    "metrics": metrics,
    "keys of an engine": lambda: table(script_tables.HEADS, script_tables.script_rows()),
    "keys of a change": lambda: table(script_tables.HEADS, script_tables.card_rows()),
}


def fresh(text: str) -> str:
    """The text with its generated blocks made anew."""
    return BLOCK.sub(lambda found: found[1] + BLOCKS[found[2]]() + found[4], text)


def documents() -> list[Path]:
    """The docs that have generated parts."""
    return [path for path in sorted((ROOT / "docs").glob("*.md")) if BLOCK.search(path.read_text())]


def main() -> int:
    """Write every block anew."""
    for path in documents():
        path.write_text(fresh(path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
