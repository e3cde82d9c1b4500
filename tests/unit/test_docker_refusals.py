"""Sentences of real engines, and whom each of them blames."""

from __future__ import annotations

import pytest

from controller.adapters.docker.translate import pull_failure, refusal
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

START = "driver failed programming external connectivity on endpoint chat (b786): "
PROXY = START + "Error starting userland proxy: listen tcp4 "
RUNC = "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "


@pytest.mark.parametrize(
    ("status", "sentence", "kind"),
    [
        (500, START + "Bind for 127.0.0.1:8010 failed: port is already allocated", PortTaken),
        (500, PROXY + "127.0.0.1:8010: bind: address already in use", PortTaken),
        (
            500,
            PROXY + "10.9.9.9:8010: bind: cannot assign requested address",
            EnvironmentFault,
        ),
        (500, 'could not select device driver "nvidia" with capabilities: [[gpu]]', GpuUnavailable),
        (
            500,
            RUNC + "hook #0: nvidia-container-cli: device error: GPU-1: unknown device",
            GpuUnavailable,
        ),
        (500, "write /var/lib/docker/tmp/x: no space left on device", OutOfSpace),
        (409, 'Conflict. The container name "/chat" is already in use by container "c0". You have to remove it', NameTaken),
        (404, "No such container: c0", NotFound),
        (404, "No such image: x:1", NotFound),
        (404, "network ui not found", EnvironmentFault),
        (409, "cannot start a paused container, try unpause instead", EnvironmentFault),
        (403, "authorization denied by plugin", EnvironmentFault),
        (501, "configured logging driver does not support reading", EnvironmentFault),
        (500, "context deadline exceeded", EngineUnreachable),
        (503, "anything", EngineUnreachable),
        (502, None, EngineUnreachable),
        (400, None, EngineUnreachable),
        (400, RUNC + 'exec: "nosuch": executable file not found in $PATH: unknown', SpecFault),
        (500, RUNC + "error during container init: error setting rlimit type 7: operation not permitted: unknown", SpecFault),
        (500, "unable to find user nosuch: no matching entries in passwd file", SpecFault),
        (500, 'error gathering device information while adding custom device "/dev/nope": no such file', SpecFault),
        (400, 'invalid mount config for type "bind": bind source path does not exist: /srv/models', EnvironmentFault),
        (400, 'invalid CapAdd: unknown capability: "CAP_NOPE"', SpecFault),
        (500, "driver failed to remove root filesystem: device or resource busy", EnvironmentFault),
    ],
)
def test_a_refusal_blames_the_right_side(status: int, sentence: str | None, kind: type[StewardError]) -> None:
    """Exactly this class, with the engine's own sentence."""
    error = refusal("POST /containers/c0/start", status, sentence)
    assert type(error) is kind
    if sentence is not None and kind is not EngineUnreachable:
        assert str(error) == sentence


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("manifest for x:1 not found: manifest unknown: manifest unknown", "not found"),
        ("unauthorized: authentication required", "unauthorized"),
        ("pull access denied for x, repository does not exist or may require 'docker login': denied: x", "unauthorized"),
        ("toomanyrequests: You have reached your pull rate limit", "rate limited"),
        ("no matching manifest for linux/amd64 in the manifest list entries", "wrong platform"),
        ('Get "https://r/v2/": net/http: request canceled (Client.Timeout exceeded while awaiting headers)', "timed out"),
        ("error pulling image: download failed after attempts=6: unexpected EOF", "cut"),
        ('Get "http://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused', "registry unreachable"),
        ("received unexpected HTTP status: 503 Service Unavailable", "registry failing"),
        ("invalid reference format: repository name must be lowercase", "refused"),
    ],
)
def test_a_failed_pull_says_its_class_first(sentence: str, label: str) -> None:
    """People see at once whether to log in, to wait or to fix a name."""
    error = pull_failure("x:1", sentence)
    assert type(error) is PullFailed
    assert str(error) == f"pull of x:1: {label}: {sentence}"


def test_a_digest_that_contains_a_status_is_no_status() -> None:
    """A reference may well hold the digits 429."""
    error = pull_failure("x@sha256:429", "manifest for x@sha256:429 not found: manifest unknown")
    assert str(error).startswith("pull of x@sha256:429: not found:")


def test_a_full_disk_during_a_pull_is_a_full_disk() -> None:
    """The registry is not to blame."""
    assert type(pull_failure("x:1", "failed to register layer: write /usr/lib/x: no space left on device")) is OutOfSpace


def test_a_long_sentence_is_cut() -> None:
    """An engine that quotes a whole configuration does not fill the journal."""
    assert len(str(refusal("POST /x", 400, "bad " * 10_000))) == 600
