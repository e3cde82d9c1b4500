"""`steward import`: reads the files, turns them into an estate, and looks whether that is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from controller.app.catalogue import shelf_of
from controller.errors import EstateInvalid, UsageError
from controller.model.document import Document
from controller.model.problem import Problem, Severity, in_report_order
from controller.model.reading import Unknown
from controller.model.rig import RigFacts
from controller.resolve import Surroundings, resolve
from controller.resolve.importing import Host, Ledger, Sources, imported, read_variables
from controller.resolve.importing.variables import Variable
from controller.settings import Settings
from controller.sources.stable_read import Unreadable, read_stable
from controller.sources.yaml_reader import read_document
from controller.sources.yaml_text import text_of

_MERGE: Final = "`<<`"
_WRITTEN_OUT: Final = "`docker compose config` prints the file with everything written out; import that"


@dataclass(frozen=True, slots=True)
class Imported:
    """The estate as YAML, what could not be carried into it, and what is still wrong with it."""

    text: str
    left_behind: tuple[Problem, ...]
    faults: tuple[Problem, ...]


def import_file(settings: Settings, path: Path, env_file: Path | None, name: str, *, current: bool) -> Imported:
    """What the file means; `name` is how the result is called. Raises UsageError, or EstateInvalid for what is no YAML."""
    ledger = Ledger()
    document = _document(settings, path)
    variables = _variables(settings, env_file, ledger) if env_file is not None else {}
    host, env_host = (Host(str(file.resolve().parent), str(Path.home())) for file in (path, env_file or path))
    profiles = shelf_of(settings).profiles
    text = imported(Sources(document, variables, host, env_host), profiles, ledger, current=current)
    if text is None:
        raise UsageError(f"{path} has neither an `estate` nor `services`, so it is no estate and no Compose file")
    whole = read_document(name, text.encode(), settings.bounds)
    assert isinstance(whole, Document), "what was written is YAML"
    cards = RigFacts(Unknown("not asked for"))
    outcome = resolve([whole], profiles.catalogue, Surroundings(cards), "")
    faults = () if not isinstance(outcome, tuple) else tuple(p for p in outcome if p.severity is Severity.ERROR)
    return Imported(text, in_report_order(ledger.problems), faults)


def _bytes(settings: Settings, path: Path) -> bytes:
    found = read_stable(path, settings.bounds.estate_file)
    if isinstance(found, Unreadable):
        raise UsageError(f"there is no file {path}" if found.gone else f"{path} cannot be read: {found.reason}")
    return found.data


def _document(settings: Settings, path: Path) -> Document:
    found = read_document(str(path), _bytes(settings, path), settings.bounds)
    if isinstance(found, tuple):
        raise EstateInvalid([replace(p, hint=_WRITTEN_OUT) if _MERGE in p.message else p for p in found])
    return found


def _variables(settings: Settings, path: Path, ledger: Ledger) -> dict[str, Variable]:
    text = text_of(str(path), _bytes(settings, path), settings.bounds.estate_file)
    if isinstance(text, Problem):
        raise EstateInvalid((text,))
    return read_variables(str(path), text, ledger)
