"""Parses the command line, runs one verb, and turns what Steward foresaw into one clear sentence and an exit code."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from controller.cli.verbs import ALSO, VERBS, Verb, members, module_of, verb_in
from controller.errors import EnvironmentFault, EstateInvalid, LockHeld, StewardError, UsageError
from controller.settings import load

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

GLOBAL_FLAGS: Final = {
    "estate": "folder or file of the estate (default: desired)",
    "rig": "auto, sim[:FILE], a rig file, or a text such as 2x:rtx-3090 (default: auto)",
    "state": "folder of the state (default: /var/lib/steward for root, else the XDG state folder)",
    "listen": "address of the HTTP API (default: 127.0.0.1:9473)",
    "profiles": "folder with more profiles and composes, before the built-in ones",
}
"""Every verb takes these, before or behind its name; the environment has each as STEWARD_NAME."""


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
        return _dispatch(*_flags_apart(arguments))
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


def _dispatch(flags: list[str], words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help") or words == ["help"]:
        (sys.stdout if words else sys.stderr).write(_overview())
        return OK if words else USAGE
    if words[0] == "--version":
        sys.stdout.write(f"steward {_version()}\n")
        return OK
    if words[0] == "help":
        words = [*words[1:], "--help"]
    if words[1:] in (["-h"], ["--help"]) and (below := members(words[0])):
        sys.stdout.write("\n".join(["usage: steward VERB [arguments]", "", *_listed(below), ""]))
        return OK
    name, rest = verb_in(words)
    verb = module_of(name)
    options = parser_of(name, verb).parse_args([*flags, *rest])
    return verb.run(options, load({flag: getattr(options, flag) for flag in GLOBAL_FLAGS}))


def parser_of(name: str, verb: Verb) -> argparse.ArgumentParser:
    """The parser of one verb: its own arguments, then those of all."""
    parser = Parser(prog=f"steward {name}", description=VERBS[name].capitalize() + ".", allow_abbrev=False)
    verb.configure(parser)
    everywhere = parser.add_argument_group("options of every verb")
    for flag, text in GLOBAL_FLAGS.items():
        everywhere.add_argument(f"--{flag}", default=None, metavar=flag.upper(), help=text)
    return parser


def _flags_apart(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The flags of every verb that were written before the verb, and the words from the verb on."""
    position = 0
    while position < len(arguments) and arguments[position].partition("=")[0] in {f"--{flag}" for flag in GLOBAL_FLAGS}:
        position += 1 if "=" in arguments[position] else 2
    return arguments[:position], arguments[position:]


def _listed(verbs: Mapping[str, str]) -> list[str]:
    return [f"  {name:<16}{text}" for name, text in verbs.items()]


def _overview() -> str:
    flags = [f"  --{name:<14}{text}" for name, text in GLOBAL_FLAGS.items()]
    codes = [f"  {code:<16}{text}" for code, text in EXIT_CODES.items()]
    return "\n".join(
        [
            "steward keeps a rig of local LLM engines the way desired/estate.yml says.",
            "",
            "usage: steward VERB [arguments]     (steward VERB --help tells more)",
            "",
            *_listed(VERBS),
            "",
            "also: " + ", ".join(f"`{name}` for `{meant}`" for name, meant in ALSO.items()),
            "",
            "options of every verb, also as STEWARD_ESTATE and so on in the environment:",
            *flags,
            "",
            "exit codes:",
            *codes,
            "",
        ]
    )


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
