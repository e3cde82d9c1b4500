"""Parses the command line, runs one verb, and turns what Steward foresaw into one clear sentence and an exit code."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn, Protocol, cast

from controller.errors import EnvironmentFault, EstateInvalid, LockHeld, StewardError, UsageError
from controller.settings import Settings, load

OK: Final = 0
PROBLEMS: Final = 1
CHANGES: Final = 2
ENVIRONMENT: Final = 3
USAGE: Final = 64
INTERRUPTED: Final = 130

EXIT_CODES: Final = {
    OK: "fine",
    PROBLEMS: "problems, a failure, or not converged",
    CHANGES: "`plan --detailed-exitcode` found something to do",
    ENVIRONMENT: "the environment is not reachable, or another Steward writes to this rig",
    USAGE: "the command line is wrong, or names something that does not exist",
    INTERRUPTED: "Ctrl-C",
}

VERBS: Final = {
    "demo": "see it work: two simulated cards, no Docker, no GPU",
    "init": "write a first estate for this machine",
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
    "schema": "print the JSON schema of a file, for editors",
}
"""Every verb is a module of this package with `configure(parser)` and `run(options, settings)`."""

GLOBAL_FLAGS: Final = {
    "estate": "folder or file of the estate (default: desired)",
    "rig": "auto, sim[:FILE], a rig file, or a text such as 2x:rtx-3090 (default: auto)",
    "state": "folder of the state (default: /var/lib/steward for root, else the XDG state folder)",
    "listen": "address of the HTTP API (default: 127.0.0.1:9473)",
    "profiles": "folder with more profiles and composes, before the built-in ones",
}
"""Every verb takes these, before or behind its name; the environment has each as STEWARD_NAME."""

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


class Parser(argparse.ArgumentParser):
    """Argparse with the usage exit code of Steward."""

    def error(self, message: str) -> NoReturn:
        """One line and how to get help."""
        self.exit(USAGE, f"{self.prog}: {message}\nTry `{self.prog} --help`.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `steward`; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _forgive_streams()
    try:
        return _dispatch(_verb_first(arguments))
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else USAGE
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return _reader_gone()
    except (StewardError, OSError) as error:
        return _explained(error)


def _explained(error: StewardError | OSError) -> int:
    """One sentence for what went wrong, and its exit code."""
    match error:
        case EstateInvalid():
            return _report(error)
        case UsageError():
            return _say(str(error), USAGE)
        case LockHeld():
            hint = "stop it first, or name its state folder with --state to ask it"
            return _say(f"{error}; {hint}", ENVIRONMENT)
        case EnvironmentFault():
            return _say(str(error), ENVIRONMENT)
        case OSError():
            where = f"{error.filename}: " if error.filename is not None else ""
            return _say(f"{where}{error.strerror or error}", ENVIRONMENT)
        case _:
            return _say(str(error), PROBLEMS)


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["help"]:
        (sys.stdout if arguments else sys.stderr).write(_overview())
        return OK if arguments else USAGE
    if arguments[0] == "--version":
        sys.stdout.write(f"steward {_version()}\n")
        return OK
    if arguments[0] == "help":
        arguments = [arguments[1], "--help"]
    name = arguments[0]
    if name not in VERBS:
        raise UsageError(_unknown_verb(name))
    verb = cast(Verb, importlib.import_module(f"controller.cli.{name}"))
    options = parser_of(name, verb).parse_args(arguments[1:])
    return verb.run(options, load({flag: getattr(options, flag) for flag in GLOBAL_FLAGS}))


def parser_of(name: str, verb: Verb) -> argparse.ArgumentParser:
    """The parser of one verb: its own arguments, then those of all."""
    parser = Parser(prog=f"steward {name}", description=VERBS[name].capitalize() + ".", allow_abbrev=False)
    verb.configure(parser)
    everywhere = parser.add_argument_group("options of every verb")
    for flag, text in GLOBAL_FLAGS.items():
        everywhere.add_argument(f"--{flag}", default=None, metavar=flag.upper(), help=text)
    return parser


def _verb_first(arguments: list[str]) -> list[str]:
    """The same words with the flags of every verb behind the verb, also where they were written before it."""
    position = 0
    while position < len(arguments) and arguments[position].partition("=")[0] in {f"--{flag}" for flag in GLOBAL_FLAGS}:
        position += 1 if "=" in arguments[position] else 2
    return [*arguments[position : position + 1], *arguments[:position], *arguments[position + 1 :]]


def _overview() -> str:
    verbs = [f"  {name:<10}{text}" for name, text in VERBS.items()]
    flags = [f"  --{name:<10}{text}" for name, text in GLOBAL_FLAGS.items()]
    codes = [f"  {code:<5}{text}" for code, text in EXIT_CODES.items()]
    return "\n".join(
        [
            "steward keeps a rig of local LLM engines the way desired/estate.yml says.",
            "",
            "usage: steward VERB [arguments]     (steward VERB --help tells more)",
            "",
            *verbs,
            "",
            "options of every verb, also as STEWARD_ESTATE and so on in the environment:",
            *flags,
            "",
            "exit codes:",
            *codes,
            "",
        ]
    )


def _unknown_verb(name: str) -> str:
    import difflib

    if name.startswith("-"):
        return f"expected a verb, found {name}; its own flags follow it: `steward VERB {name}`"
    near = difflib.get_close_matches(name, VERBS, 1, _NEAR)
    hint = f"did you mean `steward {near[0]}`?" if near else "`steward --help` lists them"
    return f"there is no verb `{name}`; {hint}"


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("steward-rig")
    except PackageNotFoundError:
        return "of a checkout that is not installed"


def _forgive_streams() -> None:
    """A terminal that cannot show a character shows `?`, and a closed stdout or stderr (`>&-`) takes everything silently."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _reader_gone() -> int:
    """Whoever read our output has seen enough (`| head`); what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK


def _say(text: str, code: int) -> int:
    from controller.cli.output import tell

    tell(f"steward: {text}")
    return code


def _report(error: EstateInvalid) -> int:
    from controller.cli.output import has_color, tell
    from observability.text import problems_text

    tell(problems_text(error.problems, color=has_color(sys.stderr)))
    return PROBLEMS
