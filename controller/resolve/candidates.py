"""Instances as the rules see them: with their cards, and with all that profiles say of what they serve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.model.fields import SecretRef
from controller.model.profile import HardwareProfile
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import RigFacts
from controller.resolve.draft import Draft
from controller.resolve.profiles import Profiles
from controller.solver import Candidate, HostFacts, Placement, RigView, Tenant, TypedCard

if TYPE_CHECKING:
    from controller.model.overlay import Overlay
    from controller.model.profile_limit import LimitProfile


@dataclass(frozen=True, slots=True)
class Table:
    """The cards of a rig with their types, the UUIDs that each instance was given, and what else the catalogue says."""

    profiles: Profiles
    facts: RigFacts
    types: Mapping[str, HardwareProfile]
    given: Mapping[str, tuple[str, ...]]

    def cards_of(self, tenant: Tenant) -> Reading[tuple[TypedCard, ...]]:
        """The cards of an instance; Unknown where they could not be read, or it was given none that is there."""
        if not tenant.card_count:
            return Known(())
        if isinstance(self.facts.cards, Unknown):
            return Unknown(f"cards not readable: {self.facts.cards.reason}")
        there = {card.uuid: TypedCard(card, self.types.get(card.uuid)) for card in self.facts.cards.value}
        uuids = self.given.get(tenant.name, ())
        if not uuids or any(uuid not in there for uuid in uuids):
            return Unknown("it has no cards of this rig")
        return Known(tuple(there[uuid] for uuid in uuids))


def rig_view(
    tenants: Sequence[Tenant], drafts: Mapping[str, Draft], placement: Placement, table: Table, *, simulated: bool
) -> RigView:
    """All instances together; one whose template is wrong is there as a tenant alone."""
    complete = [tenant for tenant in tenants if tenant.name in drafts]
    return RigView(
        candidates=tuple(_candidate(tenant, drafts[tenant.name], table, simulated=simulated) for tenant in complete),
        facts=table.facts,
        types=table.types,
        limits=_known_limits(drafts, table.profiles),
        host=HostFacts(table.facts.ram, table.facts.shm),
        tenants=tuple(tenants),
        given=placement.cards,
        unplaced=placement.findings,
    )


def _candidate(tenant: Tenant, draft: Draft, table: Table, *, simulated: bool) -> Candidate:
    """One instance; on a simulated rig no image matters."""
    steward, goods = draft.template.steward, draft.template.ingredients
    return Candidate(
        tenant=tenant,
        engine=draft.template.profile,
        requires=steward.requires,
        image="" if simulated else draft.spec.image,
        parameters=draft.parameters,
        env={name: value for name, value in draft.spec.env if not isinstance(value, SecretRef)},
        served_names=draft.serving.served_names,
        model=goods.model.profile if goods.model else None,
        weights_id=goods.weights_id,
        weights=goods.weights,
        drafter=goods.drafter.profile if goods.drafter else None,
        workload=goods.workload.profile if goods.workload else None,
        overlays=tuple(put_on.overlay for put_on in draft.overlays),
        removed_overlays=tuple(_removed(draft, table.profiles)),
        open_parameters=frozenset(name for name, declared in draft.template.parameters.items() if declared.settable),
        flags=draft.flags,
        template_status=steward.status,
        template_note=steward.note,
        vram_claim_bytes=draft.vram_claim_bytes,
        cards=table.cards_of(tenant),
        shm_bytes=draft.spec.shm_bytes,
        ipc_host=draft.spec.ipc == "host",
    )


def _removed(draft: Draft, profiles: Profiles) -> Iterator[Overlay]:
    """The template's own overlays that the entry takes off."""
    if not any(text.startswith("-") for text in draft.source.entry.overlays):
        return
    from controller.resolve.overlays import overlay_named

    kept = {put_on.overlay.id for put_on in draft.overlays}
    for name in draft.template.steward.overlays:
        record = overlay_named(profiles, name)
        if record is not None and record.profile.id not in kept:
            yield record.profile


def _known_limits(drafts: Mapping[str, Draft], profiles: Profiles) -> tuple[LimitProfile, ...]:
    """The limits that the catalogue knows; they are read only where an instance names a model."""
    if not any(draft.template.ingredients.model for draft in drafts.values()):
        return ()
    from controller.model.profile_limit import LimitProfile

    return tuple(filed.profile for filed in profiles.all("profiles/limits", LimitProfile))
