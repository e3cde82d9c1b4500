"""Parses the command line, runs one verb, and turns what Steward foresaw into one clear sentence and an exit code."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Final, NoReturn, Protocol, cast

from controller.errors import EnvironmentFault, EstateInvalid, LockHeld, StewardError, UsageError
from controller.settings import Settings, load

OK: Final = 0
PROBLEMS: Final = 1
CHANGES: Final = 2
ENVIRONMENT: Final = 3
USAGE: Final = 64

VERBS: Final = {
    "validate": "check the estate: every problem of every file at once",
    "plan": "show what would be done now, and why",
    "apply": "make the rig as the estate says, then end",
    "run": "keep the rig as the estate says, for ever",
    "status": "show how every instance stands",
    "wait": "wait until an instance is ready or gone",
    "logs": "show what an instance's engine prints",
    "events": "show what Steward did and why",
    "explain": "show where every value of an instance comes from",
    "render": "print an instance as a Compose document",
    "stop": "stop an instance, until `start` or for a time",
    "start": "start an instance again, forgetting stops and failures",
    "down": "stop every instance",
    "init": "write a first estate for this machine",
    "doctor": "look for what is wrong with this machine",
    "schema": "print the JSON schema of a file, for editors",
}
"""Every verb is a module of this package with `configure(parser)` and `run(options, settings)`."""

GLOBAL_FLAGS: Final = {
    "estate": "folder or file of the estate (default: desired)",
    "rig": "auto, sim[:FILE], a rig file, or a text such as 2x:rtx-3090",
    "state": "folder of the state",
    "listen": "address of the HTTP API (default: 127.0.0.1:9473)",
    "profiles": "more profiles, composes and overlays, before the built-in ones",
}


class Verb(Protocol):
    """A module of this package."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's own arguments."""
        ...

    def run(self, options: argparse.Namespace, settings: Settings) -> int:
        """Do it; the exit code."""
        ...


class Parser(argparse.ArgumentParser):
    """Argparse with the usage exit code of Steward."""

    def error(self, message: str) -> NoReturn:
        """One line and how to get help."""
        self.exit(USAGE, f"{self.prog}: {message}\nTry `{self.prog} --help`.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `steward`; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except UsageError as error:
        return _say(str(error), USAGE)
    except EstateInvalid as error:
        return _report(error)
    except (EnvironmentFault, LockHeld) as error:
        return _say(str(error), ENVIRONMENT)
    except StewardError as error:
        return _say(str(error), PROBLEMS)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return OK


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_overview())
        return OK if arguments else USAGE
    if arguments[0] == "--version":
        from importlib.metadata import version

        sys.stdout.write(f"steward {version('steward-rig')}\n")
        return OK
    name = arguments[0]
    if name not in VERBS:
        raise UsageError(_unknown_verb(name))
    verb = cast(Verb, importlib.import_module(f"controller.cli.{name}"))
    parser = Parser(prog=f"steward {name}", description=VERBS[name].capitalize() + ".")
    for flag, text in GLOBAL_FLAGS.items():
        parser.add_argument(f"--{flag}", default=None, metavar=flag.upper(), help=text)
    verb.configure(parser)
    options = parser.parse_args(arguments[1:])
    return verb.run(options, load({flag: getattr(options, flag) for flag in GLOBAL_FLAGS}))


def _overview() -> str:
    lines = [f"  {name:<10}{text}" for name, text in VERBS.items()]
    return "\n".join(
        [
            "steward keeps a rig of local LLM engines the way desired/estate.yml says.",
            "",
            "usage: steward VERB [arguments]     (steward VERB --help tells more)",
            "",
            *lines,
            "",
        ]
    )


def _unknown_verb(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, VERBS, 1)
    hint = f"; did you mean `steward {near[0]}`?" if near else "; `steward --help` lists them"
    return f"there is no verb `{name}`{hint}"


def _say(text: str, code: int) -> int:
    sys.stderr.write(f"steward: {text}\n")
    return code


def _report(error: EstateInvalid) -> int:
    from observability.text import problems_text

    sys.stderr.write(problems_text(error.problems, color=sys.stderr.isatty()))
    return PROBLEMS
