"""The last step: drafts with their cards, and the hashes over what is then complete."""

from __future__ import annotations

from dataclasses import replace

from controller.model.profile_engine import AvailabilityState
from controller.model.resolved import GpuBinding, Origin, ResolvedInstance
from controller.resolve.binding import Bound, gpus_text
from controller.resolve.draft import Draft
from controller.resolve.origins import RIG
from controller.resolve.overlay_effects import needs_of, uses_of
from controller.resolve.secret_book import SecretBook
from controller.resolve.spec_hash import secrets_of, spec_hash
from controller.resolve.surroundings import Surroundings


def assembled(draft: Draft, bound: Bound, secrets: SecretBook, around: Surroundings) -> ResolvedInstance:
    """The instance, complete."""
    entry, template = draft.source.entry, draft.template
    binding = bound.cards.get(entry.name)
    spec = replace(draft.spec, gpus=binding.uuids) if binding and binding.uuids else draft.spec
    plain = spec_hash(spec)
    has_secrets = bool(secrets_of(spec))
    return ResolvedInstance(
        name=entry.name,
        compose=entry.compose,
        engine=template.profile.id,
        model=template.steward.model,
        dialect=template.dialect.name,
        cpu=template.profile.cpu,
        state=entry.state,
        spec=spec,
        serving=draft.serving,
        live=draft.live,
        gpus_text=gpus_text(entry),
        binding=binding,
        spec_hash=spec_hash(spec, secrets.digest) if has_secrets else plain,
        spec_hash_plain=plain,
        secret_key=around.secret_key_id if has_secrets else "",
        parameters=draft.parameters,
        origins=_with_cards(draft, binding, bound.reasons.get(entry.name, "")),
        exclusive=draft.exclusive,
        vram_claim_bytes=draft.vram_claim_bytes,
        place=draft.source.place(),
        memory_claims=bound.claims.get(entry.name, {}),
        verdicts=bound.verdicts.get(entry.name, ()),
        unpullable="" if around.simulated else _unpullable(draft),
        overlays=uses_of(draft.overlays),
        payloads=() if around.simulated else needs_of(draft.overlays, draft.start_script),
    )


def _with_cards(draft: Draft, binding: GpuBinding | None, reason: str) -> dict[str, Origin]:
    """The cards behind the `gpus` of the file stand right after it, and where there was a choice the reason for it."""
    found: dict[str, Origin] = {}
    for key, origin in draft.origins.items():
        found[key] = origin
        if key == "gpus" and binding and binding.uuids:
            found["gpus.uuids"] = Origin(", ".join(binding.uuids), None, RIG)
            if reason:
                found["gpus.reason"] = Origin(reason, None, RIG)
    return found


def _unpullable(draft: Draft) -> str:
    """Why the engine profile's own image cannot be pulled; of another image nothing is known."""
    profile = draft.template.profile
    gone = profile.availability
    if gone.state is not AvailabilityState.PURGED or draft.spec.image != profile.image:
        return ""
    since = f" (seen on {gone.as_of})" if gone.as_of else ""
    return f"its registry does not have it any more{since}: load it with `docker load`, or name another one with `image:`"
