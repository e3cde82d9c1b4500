"""Tokens per second out of two readings of an engine's counters. Pure."""

from __future__ import annotations

from controller.model.observed import EngineMetrics, Probe
from controller.model.reading import Known


def decode_tps(before: Probe | None, after: Probe) -> float | None:
    """Generated tokens per second between two probes, while the engine had work; None where that cannot be said.

    An engine that counts its decoding time (llama.cpp) gives the exact rate; else the time between the probes is the
    divisor and the rate is a lower bound of the decode speed. A counter that went down means a
    restart: no rate until the next probe.
    """
    if before is None or not isinstance(before.metrics, Known) or not isinstance(after.metrics, Known):
        return None
    old, new = before.metrics.value, after.metrics.value
    if old.generation_tokens is None or new.generation_tokens is None:
        return None
    tokens = new.generation_tokens - old.generation_tokens
    seconds = _seconds(old, new)
    if seconds is None:
        seconds = after.at.mono - before.at.mono
    if tokens <= 0 or seconds <= 0:
        return None
    return tokens / seconds


def _seconds(old: EngineMetrics, new: EngineMetrics) -> float | None:
    if old.generation_seconds is None or new.generation_seconds is None:
        return None
    return new.generation_seconds - old.generation_seconds
