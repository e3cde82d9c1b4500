"""What an engine's refusal means: whether the surroundings or the spec are at fault, told from status and sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.errors import (
    EngineUnreachable,
    EnvironmentFault,
    GpuUnavailable,
    NameTaken,
    NotFound,
    OutOfSpace,
    PortTaken,
    PullFailed,
    SpecFault,
    StewardError,
)

_BY_SENTENCE: Final[tuple[tuple[type[StewardError], tuple[str, ...]], ...]] = (
    (PortTaken, ("port is already allocated", "address already in use")),
    (
        GpuUnavailable,
        (
            "could not select device driver",
            "nvidia-container",
            "cdi device",
            "failed to discover gpu",
            "initialization error: nvml",
        ),
    ),
    (OutOfSpace, ("no space left on device", "disk quota exceeded")),
    (NameTaken, ("is already in use by container",)),
    (NotFound, ("no such container", "no such image")),
    (
        EngineUnreachable,
        ("context deadline exceeded", "context canceled", "transport is closing", "client version", "shutting down"),
    ),
    # an address of a LAN or VPN that is not up yet
    (EnvironmentFault, ("cannot assign requested address",)),
    # a folder that a person has yet to make, or a disk that is not mounted yet
    (EnvironmentFault, ("bind source path does not exist",)),
)
_SPEC_SENTENCES: Final = (
    "oci runtime create failed",
    "unable to find user",
    "unable to find group",
    "error gathering device information",
    "invalid mount",
)
"""Answered with status 500, yet about the request: the engine learns of them only at start."""

_PULL_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "rate limited": ("toomanyrequests", "too many requests", "rate limit", "status code 429"),
    "wrong platform": ("no matching manifest", "does not match the specified platform", "cannot be used on this platform"),
    "unauthorized": ("unauthorized", "authentication required", "access denied", "no basic auth", "forbidden", "denied:"),
    "not found": ("manifest unknown", "not found", "does not exist", "name unknown", "unknown blob"),
    "timed out": ("timeout", "timed out", "deadline exceeded", "no answer in time", "went quiet", "did not finish"),
    "cut": ("unexpected eof", "connection reset", "http2: server sent goaway", "short read", "failed to copy"),
    "registry unreachable": (
        "connection refused",
        "no such host",
        "no route to host",
        "network is unreachable",
        "dial tcp",
        "eof",
    ),
    "registry failing": ("received unexpected http status",),
}
_SENTENCE_LENGTH: Final = 600


def refusal(call: str, status: int, sentence: str | None) -> StewardError:
    """The error for an answer of `status`; a `sentence` of None means that something else than the engine answered."""
    if sentence is None or status in (502, 503, 504):
        return EngineUnreachable(f"{call}: answered {status} without a sentence of the engine")
    text = sentence.strip()[:_SENTENCE_LENGTH]
    lowered = text.lower()
    for kind, phrases in _BY_SENTENCE:
        if any(phrase in lowered for phrase in phrases):
            return kind(text)
    return _by_status(status, lowered)(text)


def _by_status(status: int, lowered: str) -> type[StewardError]:
    if status in (401, 403, 404, 409, 501):
        # a policy, a network that is gone, a container in another state than was seen, a log that cannot be read: look again
        return EnvironmentFault
    if status >= 500 and not any(phrase in lowered for phrase in _SPEC_SENTENCES):
        return EnvironmentFault
    return SpecFault


def pull_failure(reference: str, sentence: str) -> EnvironmentFault:
    """The error for a pull, with its class in front so that people see at once what to do."""
    lowered = sentence.lower()
    if any(phrase in lowered for phrase in ("no space left on device", "disk quota exceeded")):
        return OutOfSpace(f"pull of {reference}: {sentence.strip()[:_SENTENCE_LENGTH]}")
    label = next((name for name, phrases in _PULL_CLASSES.items() if any(phrase in lowered for phrase in phrases)), "refused")
    return PullFailed(f"pull of {reference}: {label}: {sentence.strip()[:_SENTENCE_LENGTH]}")
