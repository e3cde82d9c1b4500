"""The templates and the estate that come with Steward: every file parses, fits its model, and means something to a dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.dialects.dialect import Launch
from controller.dialects.registry import DIALECTS
from controller.model.compose import ComposeFile
from controller.model.desired import EstateFile
from controller.model.parameters import Checked, Value, check_value
from controller.model.profile import DialectName, EngineProfile
from tests.unit.profiles import ENGINES

ROOT = Path(__file__).parents[2]
COMPOSES = sorted((ROOT / "composes").rglob("*.yml"))
ESTATE = ROOT / "desired/estate.yml"


def data(path: Path) -> Any:
    """A file as plain values."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def engine(identifier: str) -> EngineProfile:
    """The engine profile of an id."""
    return ENGINES[identifier]


def compose_id(path: Path) -> str:
    """The id of a template: its path below composes/."""
    return path.relative_to(ROOT / "composes").with_suffix("").as_posix()


def defaults(template: ComposeFile) -> dict[str, Value]:
    """The checked defaults of a template."""
    uses = template.x_steward.parameters
    checked = {name: check_value(name, use.default) for name, use in uses.items() if use.default is not None}
    wrong = {name: answer for name, answer in checked.items() if not isinstance(answer, Checked)}
    assert wrong == {}
    return {name: answer.value for name, answer in checked.items() if isinstance(answer, Checked)}


def test_every_engine_type_has_a_generic_template() -> None:
    """Given the shipped templates, when they are listed, then each engine type has one for anything it can run."""
    assert {"generic/http", "llamacpp/generic", "simulated/default", "vllm/generic"} <= set(map(compose_id, COMPOSES))


@pytest.mark.parametrize("path", COMPOSES, ids=compose_id)
def test_templates_fit_their_model_and_their_engine(path: Path) -> None:
    """Given a template, when it is read, then its engine exists and its dialect has every parameter that it declares."""
    template = ComposeFile.model_validate(data(path))
    spoken = DIALECTS[engine(template.x_steward.engine).type]
    assert set(template.x_steward.parameters) <= spoken.supported
    assert "extra_args" not in template.x_steward.parameters, "settable on every template anyway"
    assert spoken.argv(Launch(defaults(template), ("name",), 8000, "image:1")) is not None


@pytest.mark.parametrize("path", COMPOSES, ids=compose_id)
def test_templates_leave_parameters_to_the_dialect(path: Path) -> None:
    """Given a template, when its command is read, then it repeats no parameter, and its mounts are Steward's folders."""
    service = ComposeFile.model_validate(data(path)).services.engine
    assert service.command == ()
    assert all(volume.startswith("${STEWARD_") for volume in service.volumes)


def test_generic_templates_open_every_parameter_of_their_engine() -> None:
    """Given the generic templates, when they are compared with their dialects, then `set` can touch all there is."""
    for identifier in ("vllm/generic", "llamacpp/generic", "generic/http", "simulated/default"):
        template = ComposeFile.model_validate(data(ROOT / f"composes/{identifier}.yml"))
        spoken = DIALECTS[engine(template.x_steward.engine).type]
        assert set(template.x_steward.parameters) == spoken.supported - {"extra_args"}, identifier


def test_the_sample_estate_is_for_two_simulated_cards() -> None:
    """Given the sample estate, when it is read, then its instances use cards 0 and 1 of templates that exist."""
    estate = EstateFile.model_validate(data(ESTATE)).estate or ()
    assert [(entry.gpus, entry.port) for entry in estate] == [((0,), 8010), ((1,), 8011)]
    for entry in estate:
        template = ComposeFile.model_validate(data(ROOT / f"composes/{entry.compose}.yml"))
        assert engine(template.x_steward.engine).type is DialectName.SIMULATED
        assert set(entry.set) - {"extra_args"} <= set(template.x_steward.parameters)
        assert all(isinstance(check_value(name, value), Checked) for name, value in entry.set.items())
