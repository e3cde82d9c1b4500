"""Every plan that a user may meet, as the text that the user reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from observability.text import plan_text
from tests.plans.scenes import SCENES

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", sorted(SCENES))
def test_plan_reads_as_agreed(name: str) -> None:
    """Given a scene, when its plan is printed, then the text is the agreed one (golden/NAME.txt, changed by hand only)."""
    scene = SCENES[name]()
    story = SCENES[name].__doc__
    assert f"# {story}\n{plan_text(scene.plan())}" == (GOLDEN / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", sorted(SCENES))
def test_the_same_scene_gives_the_same_plan(name: str) -> None:
    """Given a scene, when it is planned twice and with its containers in another order, then the plan is the same."""
    scene = SCENES[name]()
    again = SCENES[name]()
    if isinstance(again.containers, tuple):
        again.containers = again.containers[::-1]
    assert plan_text(scene.plan()) == plan_text(again.plan())


def test_there_is_no_golden_file_without_a_scene() -> None:
    """Given the golden folder, when it is listed, then each file belongs to a scene."""
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == sorted(SCENES)
