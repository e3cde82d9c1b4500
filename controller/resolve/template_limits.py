"""The known limits that a template runs into as it stands, whatever cards it is given."""

from __future__ import annotations

from controller.model.overlay import Overlay
from controller.model.profile_limit import LimitProfile
from controller.resolve.fitting import card_count
from controller.resolve.overlays import overlay_named
from controller.resolve.profiles import Filed, Profiles
from controller.resolve.template import Template
from controller.solver.candidate import Candidate
from controller.solver.rules_limits import matches
from controller.solver.tenant import Tenant


def limits_of(template: Template, profiles: Profiles) -> tuple[LimitProfile, ...]:
    """Every limit whose conditions hold but for those on the cards' memory."""
    me = _candidate(template, profiles)
    known = (filed.profile for filed in profiles.all("profiles/limits", LimitProfile))
    return tuple(limit for limit in known if matches(me, limit.applies_to))


def overlays_in(template: Template, profiles: Profiles) -> tuple[Filed[Overlay], ...]:
    """The records of the template's own overlays; names that lead nowhere are left out."""
    found = (overlay_named(profiles, name) for name in template.steward.overlays)
    return tuple(filed for filed in found if filed is not None)


def _candidate(template: Template, profiles: Profiles) -> Candidate:
    goods, declared = template.ingredients, template.parameters
    parameters = {name: one.default for name, one in declared.items() if one.default is not None}
    tensor = parameters.get("tensor_parallel_size")
    return Candidate(
        tenant=Tenant(
            name=template.identifier,
            running=True,
            port=0,
            wanted=tuple(range(card_count(template))),
            tensor=tensor if isinstance(tensor, int) else None,
        ),
        engine=template.profile,
        requires=template.steward.requires,
        parameters=parameters,
        model=goods.model.profile if goods.model else None,
        weights_id=goods.weights_id,
        weights=goods.weights,
        drafter=goods.drafter.profile if goods.drafter else None,
        workload=goods.workload.profile if goods.workload else None,
        overlays=tuple(filed.profile for filed in overlays_in(template, profiles)),
        flags=template.parts.service.command,
    )
