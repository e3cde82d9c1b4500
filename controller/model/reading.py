"""A reading is either known or unknown with its reason; a failed read is never zero, empty or absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Known(Generic[T_co]):
    """A value that was read."""

    value: T_co


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that could not be read, and why in one human sentence."""

    reason: str


Reading: TypeAlias = Known[T_co] | Unknown
