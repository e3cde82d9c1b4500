"""Who a container belongs to: the labels set at create and never changed after, and the names derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DEFAULT_RIG: Final = "rig"
SPEC_VERSION: Final = 1
"""Version of the spec-hash algorithm; a new one migrates containers and never restarts them."""

LABEL_RIG: Final = "steward.rig"
LABEL_INSTANCE: Final = "steward.instance"
LABEL_SPEC_HASH: Final = "steward.spec-hash"
LABEL_SPEC_VERSION: Final = "steward.spec-version"
LABEL_REVISION: Final = "steward.revision"
LABEL_GENERATION: Final = "steward.generation"
LABEL_GPUS: Final = "steward.gpus"
LABEL_IMAGE_ID: Final = "steward.image-id"
LABEL_SECRET_KEY: Final = "steward.secret-key"
LABEL_SPEC_HASH_PLAIN: Final = "steward.spec-hash-plain"


@dataclass(frozen=True, slots=True)
class Identity:
    """The labels of one of our containers, as typed values; `gpus` are UUIDs in the order of the instance."""

    rig: str
    instance: str
    spec_hash: str
    generation: int
    revision: str = ""
    gpus: tuple[str, ...] = ()
    image_id: str = ""
    secret_key: str = ""
    spec_hash_plain: str = ""
    spec_version: int = SPEC_VERSION

    def labels(self) -> dict[str, str]:
        """The container labels that carry this identity."""
        return {
            LABEL_RIG: self.rig,
            LABEL_INSTANCE: self.instance,
            LABEL_SPEC_HASH: self.spec_hash,
            LABEL_SPEC_VERSION: str(self.spec_version),
            LABEL_REVISION: self.revision,
            LABEL_GENERATION: str(self.generation),
            LABEL_GPUS: ",".join(self.gpus),
            LABEL_IMAGE_ID: self.image_id,
            LABEL_SECRET_KEY: self.secret_key,
            LABEL_SPEC_HASH_PLAIN: self.spec_hash_plain,
        }

    def container_name(self) -> str:
        """`<instance>-<hash8>-<generation>`, with `<rig>.` before it unless the rig has the default name."""
        prefix = "" if self.rig == DEFAULT_RIG else f"{self.rig}."
        return f"{prefix}{self.instance}-{self.spec_hash[:8]}-{self.generation}"


def identity_of(labels: Mapping[str, str]) -> Identity | None:
    """The identity in a container's labels, or None when they are not ours (a foreign container)."""
    rig, instance, spec_hash = (labels.get(key) for key in (LABEL_RIG, LABEL_INSTANCE, LABEL_SPEC_HASH))
    if not rig or not instance or not spec_hash:
        return None
    return Identity(
        rig=rig,
        instance=instance,
        spec_hash=spec_hash,
        generation=_whole(labels.get(LABEL_GENERATION)),
        revision=labels.get(LABEL_REVISION, ""),
        gpus=tuple(uuid for uuid in labels.get(LABEL_GPUS, "").split(",") if uuid),
        image_id=labels.get(LABEL_IMAGE_ID, ""),
        secret_key=labels.get(LABEL_SECRET_KEY, ""),
        spec_hash_plain=labels.get(LABEL_SPEC_HASH_PLAIN, ""),
        spec_version=_whole(labels.get(LABEL_SPEC_VERSION)),
    )


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
