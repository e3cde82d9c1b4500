"""What works on files alone: reading, resolving, and the facts of a rig."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from controller.adapters.kernel_clock import KernelClock
from controller.errors import EstateInvalid, UsageError
from controller.model.problem import Problem, in_report_order
from controller.model.reading import Unknown
from controller.model.resolved import GpuBinding, Resolved
from controller.model.rig import RigFacts
from controller.model.snapshot import Snapshot, snapshot_of
from controller.resolve import Surroundings, resolve
from controller.settings import Bounds, Settings
from controller.sources.document_cache import DocumentCache
from controller.sources.file_source import FileSource
from controller.sources.overlay_files import OverlayFiles
from controller.sources.rig_facts import rig_document, rig_facts
from controller.sources.search_path import catalogue_for
from controller.sources.yaml_reader import read_document

if TYPE_CHECKING:
    from controller.ports import Secrets
    from controller.simulation.script_file import Simulation


@dataclass(frozen=True, slots=True)
class FileResolver:
    """Implements ports.Resolver over YAML files. Without `secrets` their values are not looked up."""

    settings: Settings
    secrets: Secrets | None = None
    documents: DocumentCache = field(default_factory=DocumentCache)

    def resolve(
        self, snapshot: Snapshot, cards: RigFacts, bindings: Mapping[str, GpuBinding], now: float, *, held: bool = False
    ) -> Resolved | tuple[Problem, ...]:
        """Parse every estate file, then resolve; all problems of all files at once."""
        bounds = self.settings.bounds
        read = [read_document(file.path, file.data, bounds) for file in snapshot.of("estate")]
        broken = [problem for result in read if isinstance(result, tuple) for problem in result]
        if broken:
            return in_report_order(broken)
        documents = [result for result in read if not isinstance(result, tuple)]
        around = Surroundings(
            cards=cards,
            bindings=bindings,
            secret_digest=self.secrets.digest if self.secrets else None,
            secret_key_id=self.secrets.key_id() if self.secrets else "",
            simulated=is_simulated(self.settings.rig),
            now=now,
            held=held,
            payloads=OverlayFiles(snapshot, bounds).payload,
        )
        catalogue = catalogue_for(snapshot, self.settings.profiles, bounds, self.documents)
        return resolve(documents, catalogue, around, snapshot.revision)


def is_simulated(rig: str) -> bool:
    """Whether `--rig` names the simulated rig."""
    return rig == "sim" or rig.startswith("sim:")


def rig_file_of(settings: Settings) -> Path | None:
    """The file that describes the simulated rig, where it has one."""
    path = settings.rig.removeprefix("sim:")
    return Path(path) if is_simulated(settings.rig) and path != settings.rig else None


def simulation_at(path: Path, bounds: Bounds) -> Simulation | tuple[Problem, ...]:
    """What a rig file lets its engines and cards do, or what is wrong with it."""
    from controller.simulation.script_file import simulation_of

    document = rig_document(str(path), bounds)
    return document if isinstance(document, tuple) else simulation_of(document)


def source_of(settings: Settings) -> FileSource:
    """The estate on disk."""
    return FileSource(settings.estate, settings.bounds)


def facts_of(settings: Settings) -> RigFacts:
    """The cards that `--rig` names; raises EstateInvalid for a rig file with problems, UsageError for a bad grammar."""
    if settings.rig == "auto":
        from controller.adapters.nvml_gpus import NvmlGpus

        return NvmlGpus(settings.bounds.nvml_read).read()
    catalogue = catalogue_for(snapshot_of(()), settings.profiles, settings.bounds)
    facts = rig_facts(settings.rig, catalogue, settings.bounds)
    path = rig_file_of(settings)
    if isinstance(facts, RigFacts) and path is not None:
        simulation = simulation_at(path, settings.bounds)
        facts = simulation if isinstance(simulation, tuple) else facts
    if isinstance(facts, RigFacts):
        return facts
    if all(problem.place is None for problem in facts):
        raise UsageError("; ".join(f"--rig {settings.rig}: {p.message}" + (f" ({p.hint})" if p.hint else "") for p in facts))
    raise EstateInvalid(facts)


def read_resolved(settings: Settings, resolver: FileResolver, bindings: Mapping[str, GpuBinding]) -> Resolved:
    """The estate as it is on disk now, resolved; raises EstateInvalid."""
    found = source_of(settings).read()
    if isinstance(found, tuple):
        raise EstateInvalid(found)
    resolved = resolver.resolve(found, facts_of(settings), bindings, KernelClock().now().wall)
    if not isinstance(resolved, Resolved):
        raise EstateInvalid(resolved)
    return resolved


def without_cards(settings: Settings, snapshot: Snapshot | None = None) -> Resolved | None:
    """A revision in force (default: the estate on disk) without asking for cards or secrets; None while it is refused."""
    found = source_of(settings).read() if snapshot is None else snapshot
    if not isinstance(found, Snapshot):
        return None
    now, cards = KernelClock().now().wall, RigFacts(Unknown("not asked for"))
    resolved = FileResolver(settings).resolve(found, cards, {}, now, held=snapshot is not None)
    return resolved if isinstance(resolved, Resolved) else None
