"""Everything that a metrics page may show, by the keys that the tables of names use."""

from __future__ import annotations

from dataclasses import dataclass

from controller.simulation.engine.counts import DRAFT, Counts
from controller.simulation.engine.metrics import Figure


@dataclass(frozen=True, slots=True)
class Load:
    """What an engine has to do: requests, and the tokens that they hold of a KV cache of `pool` tokens."""

    running: int
    waiting: int
    wanted_tokens: int
    pool: int

    @property
    def held_tokens(self) -> int:
        """At most all of them."""
        return min(self.wanted_tokens, self.pool)

    @property
    def kv_usage(self) -> float:
        """The share of the cache that is held."""
        return self.held_tokens / self.pool


def figures(counts: Counts, load: Load, acceptance: float | None) -> dict[str, Figure]:
    """The figures of one moment; histograms are copies."""
    return {**_totals(counts), **_drafts(counts, acceptance or 0.0), **_load(load)}


def _totals(counts: Counts) -> dict[str, Figure]:
    return {
        "prompt_tokens": counts.prompt_tokens,
        "prompt_seconds": counts.prompt_seconds,
        "cached_tokens": 0,
        "generated_tokens": counts.generated_tokens,
        "generated_seconds": counts.generated_seconds,
        "steps": counts.steps,
        "busy_slots_per_step": counts.busy_slots / max(counts.steps, 1),
        "preemptions": 0,
        "requests": counts.stopped + counts.cut,
        "finished": {"stop": counts.stopped, "length": counts.cut},
        "ttft": counts.ttft.copy(),
        "inter_token": counts.inter_token.copy(),
        "per_token": counts.per_token.copy(),
        "batch": counts.batch.copy(),
    }


def _drafts(counts: Counts, acceptance: float) -> dict[str, Figure]:
    return {
        "drafts": counts.drafts,
        "draft_tokens": counts.drafts * DRAFT,
        "accepted_tokens": counts.accepted,
        "accepted_by_position": {str(place): counts.accepted / DRAFT for place in range(DRAFT)},
        "accepted_length": 1 + acceptance * DRAFT,
        "acceptance": acceptance,
    }


def _load(load: Load) -> dict[str, Figure]:
    return {
        "running": load.running,
        "waiting": load.waiting,
        "waiting_by_reason": {"capacity": load.waiting, "deferred": 0},
        "kv_tokens": load.held_tokens,
        "kv_usage": load.kv_usage,
    }
