"""What an engine counts: sums that only grow, histograms, and averages between two looks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

TTFT_S: Final = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
    160,
    640,
    2560,
)
TOKEN_S: Final = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
BATCH: Final = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
DRAFT: Final = 3
"""Tokens of one draft, where there is a drafter."""


class Histogram:
    """Observations by upper bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value, several times at once where many had it."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def copy(self) -> Histogram:
        """As it stands."""
        taken = Histogram(self.bounds)
        taken.counts, taken.sum = list(self.counts), self.sum
        return taken


@dataclass(slots=True)
class Counts:
    """All counters of one engine; its owner guards them. `_seconds` are spent on the work, not passed on the wall."""

    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    generated_tokens: int = 0
    generated_seconds: float = 0.0
    steps: float = 0.0
    busy_slots: float = 0.0
    stopped: int = 0
    """Requests that ended by themselves."""
    cut: int = 0
    """Requests that ended at their limit."""
    drafts: float = 0.0
    accepted: float = 0.0
    ttft: Histogram = field(default_factory=lambda: Histogram(TTFT_S))
    inter_token: Histogram = field(default_factory=lambda: Histogram(TOKEN_S))
    per_token: Histogram = field(default_factory=lambda: Histogram(TOKEN_S))
    batch: Histogram = field(default_factory=lambda: Histogram(BATCH))

    def prefill(self, tokens: int, seconds: float, ttft_s: float, times: int = 1) -> None:
        """Prompts of that many tokens were read, and the first token came so long after the request."""
        self.prompt_tokens += tokens * times
        self.prompt_seconds += seconds * times
        self.steps += times
        self.batch.observe(tokens, times)
        self.ttft.observe(ttft_s, times)

    def decode(self, tokens: int, token_s: float, steps: int, acceptance: float | None) -> None:
        """Tokens were made, each in so many seconds, in so many steps of the engine."""
        self.generated_tokens += tokens
        self.generated_seconds += tokens * token_s
        self.inter_token.observe(token_s, tokens)
        if steps:
            self.steps += steps
            self.busy_slots += tokens
            self.batch.observe(tokens / steps, steps)
        if acceptance is not None:
            drafts = tokens / (1 + acceptance * DRAFT)
            self.drafts += drafts
            self.accepted += drafts * DRAFT * acceptance

    def finish(self, cut: bool, token_s: float, times: int = 1) -> None:
        """Requests ended."""
        self.cut, self.stopped = self.cut + times * cut, self.stopped + times * (not cut)
        self.per_token.observe(token_s, times)


@dataclass(slots=True)
class Meter:
    """Averages since the last look: of the work in tokens per second spent on it, of the engine in tokens per second passed."""

    at: float
    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    generated_tokens: int = 0
    generated_seconds: float = 0.0

    def averages(self, counts: Counts, now: float) -> dict[str, float]:
        """The averages up to now, in tokens per second; 0 where nothing happened."""
        prompt, generated = counts.prompt_tokens - self.prompt_tokens, counts.generated_tokens - self.generated_tokens
        return {
            "prompt_speed": _ratio(prompt, counts.prompt_seconds - self.prompt_seconds),
            "generation_speed": _ratio(generated, counts.generated_seconds - self.generated_seconds),
            "prompt_throughput": _ratio(prompt, now - self.at),
            "generation_throughput": _ratio(generated, now - self.at),
        }

    def reset(self, counts: Counts, now: float) -> None:
        """The next averages begin here."""
        self.at, self.prompt_tokens, self.prompt_seconds = now, counts.prompt_tokens, counts.prompt_seconds
        self.generated_tokens, self.generated_seconds = counts.generated_tokens, counts.generated_seconds


def _ratio(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0
