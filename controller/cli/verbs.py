"""The verbs of the command line, and how words become one: `status`, `overlays list`, or `rig doctor` for `doctor`."""

from __future__ import annotations

import argparse
import importlib
import keyword
from collections.abc import Sequence
from typing import Final, Protocol, cast

from controller.errors import UsageError
from controller.settings import Settings

VERBS: Final = {
    "demo": "see it work: two simulated cards, no Docker, no GPU",
    "init": "write a first estate for this machine",
    "import": "turn an older estate or an engine's Compose file into an estate",
    "validate": "check the estate: every problem of every file at once",
    "plan": "show what would be done now, and why",
    "apply": "make the rig as the estate says, then end",
    "run": "keep the rig as the estate says, until told to end",
    "status": "show how every instance stands",
    "wait": "wait until an instance is ready or gone",
    "logs": "show what an instance's engine prints",
    "events": "show what Steward did and why",
    "explain": "show where every value of an instance comes from",
    "render": "print an instance as a Compose document",
    "stop": "stop instances, until `start` or for a time",
    "start": "start instances again, forgetting stops and failures",
    "down": "stop every instance",
    "doctor": "look for what is wrong with this machine",
    "topology": "show the cards, how they are linked, and what suits them",
    "catalog list": "list templates, models, engines, cards and what else is known",
    "catalog show": "show one of them in full",
    "catalog suggest": "rank the templates that suit a kind of use on this rig",
    "catalog check": "check every document of the catalogue",
    "overlays list": "show which overlays are on, needed or superfluous, and what they wait for",
    "overlays fetch": "bring the files of overlays into the state folder",
    "overlays check": "check the records of overlays and the files that were kept",
    "schema": "print the JSON schema of a file, for editors",
}
"""Every verb is a module of this package, its words joined by `_`, with `configure(parser)` and `run(options, settings)`.

The module of a word that Python keeps for itself has a `_` behind it.
"""

ALSO: Final = {"rig doctor": "doctor", "rig topology": "topology"}
"""Second names of verbs, below the noun that they are about."""

_NEAR: Final = 0.7
"""How alike a word and a verb are before one is suggested for the other."""


class Verb(Protocol):
    """A module of this package."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's own arguments."""
        ...

    def run(self, options: argparse.Namespace, settings: Settings) -> int:
        """Do it; the exit code."""
        ...


def module_of(name: str) -> Verb:
    """The module of a verb."""
    module = f"{name}_" if keyword.iskeyword(name) else name.replace(" ", "_")
    return cast(Verb, importlib.import_module(f"controller.cli.{module}"))


def verb_in(words: Sequence[str]) -> tuple[str, list[str]]:
    """The verb that a command line begins with, and the words after it; raises UsageError where there is none."""
    for length in (2, 1):
        name = " ".join(words[:length])
        name = ALSO.get(name, name)
        if name in VERBS:
            return name, list(words[length:])
    raise UsageError(_unknown(words))


def members(noun: str) -> dict[str, str]:
    """The verbs below a noun, such as `rig`, each with what it does; empty for what is no noun."""
    names = [name for name in (*VERBS, *ALSO) if name.startswith(f"{noun} ")]
    return {name: VERBS[ALSO.get(name, name)] for name in names}


def _unknown(words: Sequence[str]) -> str:
    import difflib

    name = words[0]
    if name.startswith("-"):
        return f"expected a verb, found {name}; its own flags follow it: `steward VERB {name}`"
    known: Sequence[str] = (*VERBS, *ALSO)
    if below := members(name):
        if len(words) < 2 or words[1].startswith("-"):
            return f"`steward {name}` needs one more word: {', '.join(f'`{one}`' for one in below)}"
        name, known = " ".join(words[:2]), tuple(below)
    near = difflib.get_close_matches(name, known, 1, _NEAR)
    hint = f"did you mean `steward {near[0]}`?" if near else "`steward --help` lists them"
    return f"there is no verb `{name}`; {hint}"
