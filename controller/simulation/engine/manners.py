"""How each engine type presents itself to its clients, apart from its log and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Manner:
    """One engine type. `_s` are seconds."""

    listens_at: float = 1.0
    """The share of its load after which it listens: connections are refused before and answered with 503 from then on."""
    drain_s: float = 0.0
    """How long running requests may go on after TERM."""
    health_paths: tuple[str, ...] = ("/health",)
    ready_path: str | None = None
    """Answers at once whether it takes requests."""
    generating_health: bool = False
    """Health waits for a token, and says 503 where none comes and while it drains."""
    queued_pages: bool = False
    """Metrics and slots are asked of the decoder and wait for the end of its step."""
    any_model: bool = False
    """Its names are aliases of one model, which answers whatever name a request has."""
    report_s: float | None = None
    """How often it logs its throughput while it is busy."""


MANNERS: Final[Mapping[str, Manner]] = MappingProxyType(
    {
        "vllm": Manner(health_paths=("/health", "/ping"), report_s=10.0),
        "llamacpp": Manner(listens_at=0.0, health_paths=("/health", "/v1/health", "/"), queued_pages=True, any_model=True),
        "sglang": Manner(
            listens_at=0.9,
            drain_s=3600.0,
            health_paths=("/health", "/health_generate"),
            ready_path="/ready",
            generating_health=True,
            report_s=1.0,
        ),
        "generic": Manner(health_paths=()),
        "simulated": Manner(listens_at=0.0, drain_s=30.0, health_paths=("/health", "/"), ready_path="/ready"),
    }
)
