"""The last step: drafts with their cards, and the hashes over what is then complete."""

from __future__ import annotations

from dataclasses import replace

from controller.model.resolved import GpuBinding, Origin, ResolvedInstance
from controller.resolve.binding import gpus_text
from controller.resolve.draft import Draft
from controller.resolve.origins import RIG
from controller.resolve.secret_book import SecretBook
from controller.resolve.spec_hash import secrets_of, spec_hash


def assembled(draft: Draft, binding: GpuBinding | None, secrets: SecretBook, secret_key: str) -> ResolvedInstance:
    """The instance, complete."""
    entry, template = draft.source.entry, draft.template
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
        secret_key=secret_key if has_secrets else "",
        parameters=draft.parameters,
        origins=_with_cards(draft, binding),
        exclusive=draft.exclusive,
        vram_claim_bytes=draft.vram_claim_bytes,
        place=draft.source.place(),
    )


def _with_cards(draft: Draft, binding: GpuBinding | None) -> dict[str, Origin]:
    """The cards behind the `gpus` of the file stand right after it."""
    found: dict[str, Origin] = {}
    for key, origin in draft.origins.items():
        found[key] = origin
        if key == "gpus" and binding and binding.uuids:
            found["gpus.uuids"] = Origin(", ".join(binding.uuids), None, RIG)
    return found
