"""Whether a text can be an image reference at all: what Docker would refuse at create is refused at validation."""

from __future__ import annotations

import re
from typing import Final

_DOMAIN: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?/)?"
_PART: Final = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"{_DOMAIN}{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?|sha256:[0-9a-f]{{64}}"
)


def is_reference(text: str) -> bool:
    """Whether Docker takes it as a repository with tag or digest, or as an image id."""
    return _REFERENCE.fullmatch(text) is not None
