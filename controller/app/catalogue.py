"""The catalogue as the estate sees it: what lies beside it, then `--profiles`, then what comes with Steward."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from controller.adapters.kernel_clock import KernelClock
from controller.app.files import facts_of, is_simulated, source_of
from controller.errors import EnvironmentFault, EstateInvalid, UsageError
from controller.model.problem import in_report_order
from controller.model.reading import Unknown
from controller.model.snapshot import Snapshot, snapshot_of
from controller.resolve import Surroundings
from controller.resolve.nearest import nearest
from controller.resolve.profiles import Filed, Profiles
from controller.resolve.template import Template, read_template
from controller.settings import Settings
from controller.sources.overlay_files import OverlayFiles
from controller.sources.search_path import catalogue_for

if TYPE_CHECKING:
    from controller.resolve.suggesting import Suggestions
    from observability.catalogue_show import ProfileDocument, TemplateDocument

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The profiles, each read once, and the files that lie beside the estate."""

    settings: Settings
    snapshot: Snapshot
    profiles: Profiles

    def around(self) -> Surroundings:
        """The rig of `--rig` as the only surroundings; raises EnvironmentFault where its cards cannot be read."""
        facts = facts_of(self.settings)
        if isinstance(facts.cards, Unknown):
            hint = "name a rig, such as --rig 2x:rtx-3090"
            raise EnvironmentFault(f"the cards of this machine are not readable ({facts.cards.reason}); {hint}")
        return Surroundings(
            facts,
            simulated=is_simulated(self.settings.rig),
            now=KernelClock().now().wall,
            payloads=OverlayFiles(self.snapshot, self.settings.bounds).payload,
        )


def shelf_of(settings: Settings) -> Shelf:
    """An estate that cannot be read counts as one without a catalogue of its own."""
    found = source_of(settings).read()
    snapshot = found if isinstance(found, Snapshot) else snapshot_of(())
    return Shelf(settings, snapshot, Profiles(catalogue_for(snapshot, settings.profiles, settings.bounds)))


def one_of(what: str, name: str, known: Iterable[str], found: T | None) -> T:
    """What was found; raises UsageError with a hint where nothing was."""
    if found is None:
        raise UsageError(f"there is no {what} {name}; {nearest(name, known, 'the catalogue has')}")
    return found


def suggested(settings: Settings, workload: str, model: str | None) -> Suggestions:
    """What suits a workload on the rig; raises UsageError for a workload or a model that there is not."""
    from controller.model.profile_workload import WorkloadProfile
    from controller.resolve.suggesting import suggestions

    shelf = shelf_of(settings)
    profiles, ids = shelf.profiles, shelf.profiles.catalogue.ids
    found = _of(profiles, "profiles/workloads", workload, WorkloadProfile)
    wanted = one_of("workload", workload, ids("profiles/workloads"), found)
    if model is not None:
        one_of("model", model, ids("profiles/models"), profiles.catalogue.find("profiles/models", model))
    return suggestions(wanted.profile, model, profiles, shelf.around())


def document_of(profiles: Profiles, identifier: str, kind: str | None) -> TemplateDocument | ProfileDocument:
    """What the catalogue has under an id; raises UsageError where it has nothing or several, EstateInvalid for a wrong one."""
    from observability.catalogue import COMPOSES, KINDS
    from observability.catalogue_show import profile_document, template_document

    kinds = KINDS if kind is None else {kind: KINDS[kind]}
    holders = [one for one, (folder, _) in kinds.items() if profiles.catalogue.find(folder, identifier) is not None]
    known = [name for folder, _ in kinds.values() for name in profiles.catalogue.ids(folder)]
    found = one_of("document", identifier, known, holders[0] if holders else None)
    if len(holders) > 1:
        raise UsageError(f"{identifier} is one of {', '.join(holders)}: say which with --kind")
    folder, model = KINDS[found]
    if found == COMPOSES or model is None:
        return template_document(_template(profiles, identifier), profiles)
    filed = _of(profiles, folder, identifier, model)
    assert filed is not None, "it was there a moment ago"
    return profile_document(found, filed, profiles)


def _of(profiles: Profiles, kind: str, identifier: str, model: type[M]) -> Filed[M] | None:
    """The profile; raises EstateInvalid where it is wrong."""
    found = profiles.get(kind, identifier, model)
    if problems := profiles.problems.get((kind, identifier)):
        raise EstateInvalid(problems)
    return found


def _template(profiles: Profiles, identifier: str) -> Template:
    """The template; raises EstateInvalid where it, or a profile that it names, is wrong."""
    read = read_template(identifier, profiles)
    if read.template is None:
        named = [problem for key in read.needs for problem in profiles.problems.get(key, ())]
        raise EstateInvalid(in_report_order((*read.problems, *named)))
    return read.template
