"""Other people's files in, an estate out: older estates, plain Compose files of engines, older environment variables. Pure.

`imported` finds out what a file is; `older_estate` and `compose_file` read it; `older_variables` puts variables into what was
read. What cannot be said in an estate is told with its place, and never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.model.document import Document, Plain
from controller.resolve.estate_text import EstateText, estate_yaml
from controller.resolve.importing.compose_file import compose_file
from controller.resolve.importing.drafting import DraftEstate, Host, Ledger
from controller.resolve.importing.older_estate import older_estate
from controller.resolve.importing.older_variables import KNOWN, apply_variables
from controller.resolve.importing.variables import Interpolation, Variable, read_variables
from controller.resolve.profiles import Profiles


@dataclass(frozen=True, slots=True)
class Sources:
    """What is imported: a file, and the variables of an environment file, each with where it lies."""

    document: Document
    variables: Mapping[str, Variable]
    host: Host
    variables_host: Host


def imported(sources: Sources, profiles: Profiles, ledger: Ledger, *, current: bool = False) -> str | None:
    """The estate as YAML; None for a file that is neither an estate nor a Compose file."""
    data = sources.document.data if isinstance(sources.document.data, dict) else {}
    if "estate" in data:
        estate = older_estate(sources.document, profiles, ledger, current=current)
        apply_variables(estate, sources.variables, profiles, sources.variables_host, ledger)
    elif "services" in data:
        filler = Interpolation(sources.variables, ledger)
        estate = compose_file(sources.document, profiles, filler, sources.host, ledger)
        _tell_of_unused(sources.variables, filler.used, ledger)
    else:
        return None
    return _written(estate, sources.document.file)


def _tell_of_unused(variables: Mapping[str, Variable], used: set[str], ledger: Ledger) -> None:
    for variable in variables.values():
        if variable.name not in used:
            what = "is not used by this file" if variable.name in KNOWN else "is used by nothing here"
            ledger.lost(variable.place, f"{variable.name} {what}")


def _written(estate: DraftEstate, file: str) -> str:
    header: dict[str, Plain] = {"schema_version": 1, "rig": {"mode": "observe", **estate.rig}}
    rig = header["rig"]
    if estate.paths and isinstance(rig, dict):
        known = rig.get("paths")
        rig["paths"] = {**estate.paths, **(known if isinstance(known, dict) else {})}
    head = [
        f"Imported from {file}. `steward validate` checks it, `steward plan` shows what would be done.",
        "mode: observe plans and reports only; write auto when the plan is what you want.",
    ]
    entries = [entry.text for entry in estate.entries]
    return estate_yaml(EstateText(entries, head, {**header, **estate.others}))


__all__ = ["Host", "Ledger", "Sources", "imported", "read_variables"]
