"""Whether a build needs an overlay, by the tracker: the rows of a record against what an image contains."""

from __future__ import annotations

import pytest

from controller.resolve.overlay_builds import Need, blocked_on, build_of, droppable_since, need_of
from tests.unit.profiles import ENGINES, UPSTREAM
from tests.unit.test_overlay_records import RECORDS

ROWS = {row.id: row for row in UPSTREAM.upstream}
TRUNCATE, MARLIN = "vllm-pr41800-truncate-prompt-tokens", "vllm-marlin-pad"
FALLBACK, UPGRADE = "vllm-pr35936-required-fallback", "transformers-5.8.0-upgrade"


def need(overlay: str, engine: str, image: str | None = None) -> tuple[Need, str]:
    """The verdict on an overlay and an image of an engine (default: its own)."""
    profile = ENGINES[engine]
    build = build_of(profile, image or str(profile.image), UPSTREAM, tuple(ENGINES.values()))
    found = need_of(RECORDS[overlay], build, ROWS)
    return found.need, found.why


@pytest.mark.parametrize(
    ("overlay", "engine", "image", "expected"),
    [
        (TRUNCATE, "vllm-nightly-mtp", None, (Need.NEEDED, "the build lacks vllm-41800")),
        (TRUNCATE, "vllm-nightly-clean", None, (Need.REDUNDANT, "its record says so")),
        (TRUNCATE, "vllm-nightly-mtp", "vllm/vllm-openai:v0.22.0", (Need.REDUNDANT, "the build has vllm-41800")),
        (TRUNCATE, "vllm-nightly-mtp", "vllm/vllm-openai:v0.21.0", (Need.NEEDED, "the build lacks vllm-41800")),
        (TRUNCATE, "vllm-nightly-mtp", str(ENGINES["vllm-nightly-clean"].image), (Need.REDUNDANT, "the build has vllm-41800")),
        (TRUNCATE, "vllm-nightly-mtp", "mine/vllm:1", (Need.UNKNOWN, "what this build contains is not recorded")),
        (TRUNCATE, "vllm-stable", None, (Need.REDUNDANT, "the build has vllm-41800")),
        (MARLIN, "vllm-nightly-mtp", "vllm/vllm-openai:v0.24.0", (Need.REDUNDANT, "the build has vllm-40361")),
        (FALLBACK, "vllm-nightly-mtp", "vllm/vllm-openai:v0.99.0", (Need.NEEDED, "the build lacks vllm-35936")),
        ("froggeric-chat-template", "vllm-nightly-mtp", None, (Need.NEEDED, "its record says so")),
        ("froggeric-chat-template", "vllm-stable", None, (Need.UNKNOWN, "its record does not name this engine")),
        (UPGRADE, "vllm-nightly-mtp", UPSTREAM.builds[0].image, (Need.REDUNDANT, "the build has transformers-5.8.0")),
    ],
)  # fmt: skip
def test_a_build_and_an_overlay(overlay: str, engine: str, image: str | None, expected: tuple[Need, str]) -> None:
    """Given an image, when tracker and record are asked, then the verdict is the one that they bear out."""
    assert need(overlay, engine, image) == expected


def test_since_when_an_overlay_can_be_left_out() -> None:
    """Given the tracker, when releases are looked for, then an overlay is droppable since the last of its changes came."""
    since = {name: text for name, overlay in RECORDS.items() if (text := droppable_since(overlay, ROWS))}
    assert since == {MARLIN: "0.24.0", TRUNCATE: "0.22.0", "vllm-pr40886-awq-moe-keys": "0.22.0"}


def test_what_an_overlay_is_blocked_on() -> None:
    """Given an overlay of two changes, when one is in a release, then it is blocked on the other one alone."""
    assert [row.id for row in blocked_on(RECORDS["vllm-gemma4-tool-parser-fixes"], ROWS)] == ["vllm-42006"]
    assert list(blocked_on(RECORDS[TRUNCATE], ROWS)) == []
