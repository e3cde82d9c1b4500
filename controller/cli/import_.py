"""`steward import FILE`: an older estate, or the Compose file of an engine, as an estate of Steward."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from controller.cli.output import has_color, print_text, tell
from controller.errors import EnvironmentFault, UsageError
from controller.settings import Settings

PRINTED: Final = "the estate above"


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="the older estate, or the Compose file")
    parser.add_argument("--env-file", metavar="FILE", type=Path, help="environment variables that belong to it, such as .env")
    parser.add_argument("--current", action="store_true", help="where an id has passed to a newer template, take the newer one")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the estate there; a file that exists is left alone")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print or write the estate, and tell what could not be carried; 1 when the result is not valid yet."""
    import sys

    from controller.app.importing import import_file
    from observability.text.importing import faults_text, left_behind_text

    target: Path | None = options.output
    if target is not None and target.exists():
        raise UsageError(f"{target} exists already; nothing is written")
    name = str(target) if target else PRINTED
    found = import_file(settings, options.file, options.env_file, name, current=options.current)
    if target is None:
        print_text(found.text)
    else:
        _write(target, found.text)
    color = has_color(sys.stderr)
    tell(left_behind_text(found.left_behind, color=color) + faults_text(found.faults, color=color))
    return 1 if found.faults else 0


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"{path} exists already; nothing is written") from error
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from error
    tell(f"wrote {path}")
