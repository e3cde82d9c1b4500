"""Secrets as the spec hash needs them: a keyed digest a name, asked for once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_NOT_LOOKED_UP: Final = "not looked up"


@dataclass(frozen=True, slots=True)
class SecretBook:
    """Digests by name; without a `lookup` every secret is taken to exist."""

    lookup: Callable[[str], str | None] | None
    _known: dict[str, str | None] = field(default_factory=dict)

    def exists(self, name: str) -> bool:
        """Whether there is such a secret, as far as it was asked."""
        return self._digest(name) is not None

    def digest(self, name: str) -> str:
        """What stands for the value in the hash."""
        return self._digest(name) or "missing"

    def _digest(self, name: str) -> str | None:
        if self.lookup is None:
            return _NOT_LOOKED_UP
        if name not in self._known:
            self._known[name] = self.lookup(name)
        return self._known[name]
