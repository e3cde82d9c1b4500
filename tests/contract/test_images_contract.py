"""What the port Images promises about local images; pulls through a real registry are in tests/docker/test_pull.py."""

from __future__ import annotations

import pytest

from controller.errors import PullFailed
from tests.contract.rigs import Rig


def test_a_local_image_is_found_by_reference_and_by_id(rig: Rig) -> None:
    """Both lead to the same image, which knows its tags and size."""
    image = rig.engine.inspect(rig.image)
    assert image is not None
    assert rig.engine.inspect(image.id) == image
    assert rig.image in image.tags
    assert image.id.startswith("sha256:")
    assert image.size_bytes > 0


def test_an_absent_image_is_none(rig: Rig) -> None:
    """None is the engine's own answer, not a failed read."""
    assert rig.engine.inspect("steward-test/absent:1") is None
    assert rig.engine.inspect("sha256:" + "0" * 64) is None


def test_a_pull_that_fails_is_an_environment_fault_with_the_reference(rig: Rig) -> None:
    """Nothing answers at that registry (in memory: it does not have the image)."""
    with pytest.raises(PullFailed, match=r"127\.0\.0\.1:1/steward-test/absent:1"):
        rig.engine.pull("127.0.0.1:1/steward-test/absent:1", lambda _sentence: None)
