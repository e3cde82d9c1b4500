"""An argv as golden tests show it: one flag with its values a line, secrets by name."""

from __future__ import annotations

from collections.abc import Iterable

from controller.model.fields import SecretRef
from controller.model.resolved import Secretive


def argv_text(argv: Iterable[Secretive]) -> str:
    """The argv as text; a word that begins with a hyphen begins a line."""
    words = [f"<secret {word.secret}>" if isinstance(word, SecretRef) else word for word in argv]
    text = "".join(f"\n{word}" if word.startswith("-") else f" {word}" for word in words)
    return text.removeprefix("\n") + "\n" if text else ""
