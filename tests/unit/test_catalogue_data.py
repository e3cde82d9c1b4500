"""The templates and the estate that come with Steward: what each one stands for, and that everything it names is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from controller.dialects.dialect import Launch
from controller.dialects.registry import DIALECTS
from controller.model.compose import ComposeFile
from controller.model.desired import EstateFile
from controller.model.parameters import Checked, Value, check_value
from controller.model.profile import DialectName
from controller.model.profile_model import WeightsRole
from controller.model.profile_words import KvFormat
from tests.unit.profiles import DRAFTERS, ENGINES, MODELS, WORKLOADS
from tests.unit.templates import CATALOGUE, ROOT, TEMPLATES, whole

TABLE: Final = Path(__file__).parent / "golden" / "templates.txt"
ESTATE: Final = ROOT.parent / "desired" / "estate.yml"
GENERIC: Final = ("generic/http", "llamacpp/generic", "sglang/generic", "simulated/default", "vllm/generic")
"""One for each engine type, for anything that it can run."""
LIVING: Final = 23
OLDER: Final = 42
BASES: Final = sorted(path for path in ROOT.rglob("*.yml") if path.name.startswith("_"))
KNOWN: Final = [name for name in TEMPLATES if whole(name).x_steward.model is not None]
"""The templates of a certain model."""


def data(path: Path) -> Any:
    """A file as plain values."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def defaults(template: ComposeFile) -> dict[str, Value]:
    """The checked defaults of a template."""
    uses = template.x_steward.parameters
    checked = {name: check_value(name, use.default) for name, use in uses.items() if use.default is not None}
    wrong = {name: answer for name, answer in checked.items() if not isinstance(answer, Checked)}
    assert wrong == {}
    return {name: answer.value for name, answer in checked.items() if isinstance(answer, Checked)}


def row(identifier: str) -> list[str]:
    """What a template says, as the golden table has it."""
    template = whole(identifier)
    steward, given = template.x_steward, defaults(template)
    drafts = given.get("spec_tokens", DRAFTERS[steward.drafter].tokens_default) if steward.drafter else None
    sizes = [given.get(name) for name in ("max_model_len", "max_num_seqs", "gpu_memory_utilization")]
    found = [steward.engine, steward.model, steward.weights, steward.drafter, drafts, given["kv_cache_dtype"]]
    found += [steward.requires.tp, *sizes, steward.suggested_port, steward.workload, steward.status]
    return [identifier, *("-" if value is None else str(value) for value in found)]


def test_every_template_is_what_the_table_says() -> None:
    """Given the templates of certain models, when they are read, then each has the values of its row, and no row is missing."""
    wanted = [line.split() for line in TABLE.read_text().splitlines()[1:]]
    assert [row(name) for name in sorted(KNOWN)] == sorted(wanted)


def test_both_generations_are_there() -> None:
    """Given the ids, when they are counted, then all are there; an older one of a living name is under `historical/`."""
    historical = {name.removeprefix("historical/") for name in TEMPLATES if name.startswith("historical/")}
    assert historical == {"vllm/dual", "vllm/minimal"}
    assert historical <= set(TEMPLATES)
    assert len(KNOWN) == LIVING + OLDER
    assert set(TEMPLATES) - set(KNOWN) == {*GENERIC, "llamacpp/split"}


def test_every_file_is_a_template_or_what_one_stands_on() -> None:
    """Given the files, when they are compared with the ids, then the others are bases, each of which somebody extends."""
    ids = {path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.rglob("*.yml")}
    bases = {path.relative_to(ROOT).with_suffix("").as_posix() for path in BASES}
    assert ids == set(TEMPLATES) | bases
    text = "\n".join(path.read_text() for path in ROOT.rglob("*.yml"))
    extended = re.findall(r"extends: \{file: (?:[./\w]*/)?(_[^,]+)\.yml,", text)
    assert {name.rpartition("/")[2] for name in bases} == set(extended)


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_fit_their_model_and_their_engine(name: str) -> None:
    """Given a template, when it is read, then its engine exists and its dialect has every parameter that it declares."""
    template = whole(name)
    spoken = DIALECTS[ENGINES[template.x_steward.engine].type]
    assert set(template.x_steward.parameters) <= spoken.supported
    assert "extra_args" not in template.x_steward.parameters, "settable on every template anyway"
    launch = Launch(defaults(template), ("name",), 8000, "image:1", template.services.engine.command)
    flags = [word for word in spoken.argv(launch) if isinstance(word, str) and word.startswith("-")]
    assert len(flags) == len(set(flags)), "the command repeats a parameter"


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_mount_stewards_folders_only(name: str) -> None:
    """Given a template, when its mounts are read, then they are Steward's folders, the models read-only."""
    volumes = whole(name).services.engine.volumes
    assert all(volume.startswith("${STEWARD_") for volume in volumes)
    assert all(volume.endswith(":ro") for volume in volumes if "STEWARD_MODELS" in volume)


@pytest.mark.parametrize("name", KNOWN)
def test_all_that_a_template_names_is_in_the_catalogue(name: str) -> None:
    """Given a template, when its model, weights, drafter and workload are looked up, then they exist and belong together."""
    steward = whole(name).x_steward
    model = MODELS[steward.model or ""]
    weights = model.weights[steward.weights or ""]
    assert weights.role is WeightsRole.TARGET
    assert steward.weights == (steward.weights or "").replace("-", "_")
    assert steward.workload is None or steward.workload in WORKLOADS
    assert steward.drafter is None or model.id in DRAFTERS[steward.drafter].models
    assert steward.note
    assert "\n" not in steward.note


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_overlay_has_its_record(name: str) -> None:
    """Given a template, when its overlays are looked up, then each has a record."""
    overlays = whole(name).x_steward.overlays
    assert len(overlays) == len(set(overlays))
    assert set(overlays) <= set(CATALOGUE.ids("profiles/overlays"))


@pytest.mark.parametrize("name", KNOWN)
def test_sizes_are_within_what_model_and_cards_can_do(name: str) -> None:
    """Given a template, when its context, KV format and cards are compared, then they keep to model, words and each other."""
    steward = whole(name).x_steward
    context = steward.parameters["max_model_len"]
    assert isinstance(context.default, int)
    assert isinstance(context.max, int)
    assert context.default <= context.max <= (MODELS[steward.model or ""].max_context_tokens or context.max)
    assert steward.parameters["kv_cache_dtype"].default in list(KvFormat)
    assert steward.requires.gpus == steward.requires.tp * steward.requires.pp


@pytest.mark.parametrize("name", KNOWN)
def test_a_drafter_with_files_of_its_own_is_named_by_them(name: str) -> None:
    """Given a template, when its drafter has files of its own, then `spec_model` is among the model's drafters."""
    steward = whole(name).x_steward
    drafter = DRAFTERS[steward.drafter] if steward.drafter else None
    use = steward.parameters.get("spec_model")
    if drafter is None or drafter.download is None:
        assert use is None
        return
    weights = MODELS[steward.model or ""].weights
    folders = {found.directory for found in weights.values() if found.role is WeightsRole.DRAFTER}
    files = {f"{found.directory}/{file}" for found in weights.values() for file in found.files if file.startswith("mtp-")}
    assert use is not None
    assert use.default in folders | files


@pytest.mark.parametrize("name", KNOWN)
def test_the_patch_bundle_comes_with_its_switches(name: str) -> None:
    """Given a template, when its environment is read, then it has switches of the patch bundle exactly where that is put on."""
    template = whole(name)
    switches = [key for key in template.services.engine.environment if key.startswith("GENESIS_")]
    assert bool(switches) == ("genesis" in template.x_steward.overlays)


def test_generic_templates_open_every_parameter_of_their_engine() -> None:
    """Given the generic templates, when they are compared with their dialects, then `set` can touch all there is."""
    for identifier in (*GENERIC, "llamacpp/split"):
        template = whole(identifier)
        spoken = DIALECTS[ENGINES[template.x_steward.engine].type]
        missing = spoken.supported - {"extra_args", "served_name"} - set(template.x_steward.parameters)
        assert missing == set(), identifier


def test_every_engine_type_has_a_generic_template() -> None:
    """Given the generic templates, when their engines are read, then each engine type has one."""
    assert {ENGINES[whole(name).x_steward.engine].type for name in GENERIC} == set(DialectName)


def test_the_sample_estate_is_for_two_simulated_cards() -> None:
    """Given the sample estate, when it is read, then its instances use cards 0 and 1 of templates that exist."""
    estate = EstateFile.model_validate(data(ESTATE)).estate or ()
    assert [(entry.gpus, entry.port) for entry in estate] == [((0,), 8010), ((1,), 8011)]
    for entry in estate:
        template = whole(entry.compose)
        assert ENGINES[template.x_steward.engine].type is DialectName.SIMULATED
        assert set(entry.set) - {"extra_args"} <= set(template.x_steward.parameters)
        assert all(isinstance(check_value(name, value), Checked) for name, value in entry.set.items())
