"""What the rules know of one instance and of the rig: facts only, so that a verdict can be explained without any file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller.model.reading import Reading, Unknown
from controller.model.rig import Card, RigFacts
from controller.solver.tenant import Finding, Tenant

if TYPE_CHECKING:
    from controller.model.compose import Requires
    from controller.model.overlay import Overlay
    from controller.model.parameters import Value
    from controller.model.profile_drafter import DrafterProfile
    from controller.model.profile_engine import EngineProfile
    from controller.model.profile_hardware import HardwareProfile
    from controller.model.profile_limit import LimitProfile
    from controller.model.profile_model import ModelProfile, Weights
    from controller.model.profile_workload import WorkloadProfile


@dataclass(frozen=True, slots=True)
class TypedCard:
    """A card with the profile of its type, None where no profile describes it: then only what the driver says is known."""

    card: Card
    profile: HardwareProfile | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance, complete. `cards` are the ones that it was given, Unknown where they could not be read or none were found.

    `parameters` hold every value that reaches the engine, `open_parameters` the names that `set` may touch. `weights_id` is
    written with `_`. `flags` are those that no parameter stands for: the template's `command`, then `extra_args`. `image` is
    empty where none matters. `removed_overlays` are the template's own that the instance takes off.
    """

    tenant: Tenant
    engine: EngineProfile
    requires: Requires
    image: str = ""
    parameters: Mapping[str, Value] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    served_names: tuple[str, ...] = ()
    model: ModelProfile | None = None
    weights_id: str = ""
    weights: Weights | None = None
    drafter: DrafterProfile | None = None
    workload: WorkloadProfile | None = None
    overlays: tuple[Overlay, ...] = ()
    removed_overlays: tuple[Overlay, ...] = ()
    open_parameters: frozenset[str] = frozenset()
    flags: tuple[str, ...] = ()
    template_status: str = ""
    template_note: str = ""
    vram_claim_bytes: int | None = None
    """The part of a card that a generic tenant says it takes."""
    cards: Reading[tuple[TypedCard, ...]] = Unknown("cards not readable")
    shm_bytes: int | None = None
    """What the container's /dev/shm holds; None: Docker's default. A container with `ipc: host` has the host's."""
    ipc_host: bool = False

    @property
    def name(self) -> str:
        """The instance."""
        return self.tenant.name

    @property
    def tensor(self) -> int:
        """Cards that share each layer; 1 for engines that do not divide layers."""
        return self.tenant.tensor or 1

    @property
    def drafting(self) -> DrafterProfile | None:
        """The template's drafter where it is put to use: an instance does without it by `spec_method: null`."""
        return self.drafter if "spec_method" in self.parameters else None

    def text(self, parameter: str) -> str | None:
        """A parameter's value as text, None where it was not said."""
        value = self.parameters.get(parameter)
        return value if isinstance(value, str) else None

    def number(self, parameter: str) -> int | None:
        """A parameter's whole number, None where it was not said."""
        value = self.parameters.get(parameter)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The machine under the cards, in bytes; Unknown where nobody could say."""

    ram: Reading[int] = Unknown("not read")
    shm: Reading[int] = Unknown("not read")


@dataclass(frozen=True, slots=True)
class RigView:
    """All instances together, the cards as facts with their types, and the known limits.

    `tenants` are all instances of the estate in the order of the file, also those whose template is wrong and that are
    therefore no candidates; `given` are the UUIDs that each of them got, `unplaced` what placing them had to say. Where they
    are empty, the candidates are all there is. `known_flags` holds the flags that an image's own help lists, by image.
    """

    candidates: tuple[Candidate, ...]
    facts: RigFacts
    types: Mapping[str, HardwareProfile] = field(default_factory=dict)
    """The profile of each card by its UUID; a card without one is absent."""
    limits: tuple[LimitProfile, ...] = ()
    host: HostFacts = HostFacts()
    tenants: tuple[Tenant, ...] = ()
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unplaced: tuple[Finding, ...] = ()
    known_flags: Mapping[str, frozenset[str]] = field(default_factory=dict)
