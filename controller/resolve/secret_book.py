"""Secrets as the spec hash needs them: a keyed digest a name, asked for once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from controller.errors import SpecFault

_NOT_LOOKED_UP: Final = "not looked up"


@dataclass(frozen=True, slots=True)
class SecretBook:
    """Digests by name; without a `lookup` every secret is taken to exist."""

    lookup: Callable[[str], str | None] | None
    _known: dict[str, str | None] = field(default_factory=dict)
    _troubles: dict[str, str] = field(default_factory=dict)

    def trouble(self, name: str) -> str:
        """Why the secret cannot be used, in one sentence; empty when it can, or when secrets are not looked up."""
        missing = self._digest(name) is None
        return self._troubles.get(name, f"there is no secret {name}") if missing else ""

    def digest(self, name: str) -> str:
        """What stands for the value in the hash."""
        return self._digest(name) or "missing"

    def _digest(self, name: str) -> str | None:
        if self.lookup is None:
            return _NOT_LOOKED_UP
        if name not in self._known:
            try:
                self._known[name] = self.lookup(name)
            except SpecFault as fault:
                self._known[name], self._troubles[name] = None, str(fault)
        return self._known[name]
