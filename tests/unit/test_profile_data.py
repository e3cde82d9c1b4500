"""The profiles that come with Steward hold together: ids, references, words, and the facts that rules will rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final, Protocol

import pytest

from controller.dialects.registry import DIALECTS
from controller.model.profile_architecture import Architecture
from controller.model.profile_engine import AvailabilityState
from controller.model.profile_model import WeightsRole
from controller.model.profile_upstream import UpstreamStatus
from controller.model.profile_words import DialectName, DrafterMethod, KvFormat, WeightFormat
from tests.unit.profiles import DRAFTERS, ENGINES, HARDWARE, LIMITS, MODELS, UPSTREAM, WORKLOADS

OVERLAYS: Final = frozenset(
    {
        "carnice-chat-template.jinja",
        "froggeric-chat-template",
        "gemma4-tool-chat-template",
        "genesis",
        "genesis-python-deps",
        "google-canonical-chat-template",
        "local",
        "ninja-and-turboquant-plugin",
        "nvlink-autodetect",
        "transformers-5.8.0-upgrade",
        "vllm-gemma4-dflash",
        "vllm-gemma4-dflash-int8",
        "vllm-gemma4-tool-parser-fixes",
        "vllm-marlin-pad",
        "vllm-pr35936-required-fallback",
        "vllm-pr40108-rebased",
        "vllm-pr40391-rebased",
        "vllm-pr40391-v0.22.0",
        "vllm-pr40798-rebased",
        "vllm-pr40886-awq-moe-keys",
        "vllm-pr41800-truncate-prompt-tokens",
        "vllm-pr48375-mamba-drop-eagle-block",
        "w4a8",
        "w4a8-int8-act",
    }
)
"""Every overlay id that templates and profiles may name."""

SERVED_BY_ANY_ALONE: Final = frozenset({"moe", "swa-dense", "swa-moe", "mla-moe", "encoder"})
"""Families for which no engine build is proven; the engines that take any family take them."""

ROWS: Final = {row.id: row for row in UPSTREAM.upstream}
GIB: Final = 2**30


class Identified(Protocol):
    """A profile of any kind."""

    @property
    def id(self) -> str:
        """Its id."""
        ...


@pytest.mark.parametrize(
    ("kind", "count"),
    [(HARDWARE, 36), (ENGINES, 15), (MODELS, 60), (DRAFTERS, 11), (WORKLOADS, 5), (LIMITS, 5)],
    ids=["hardware", "engines", "models", "drafters", "workloads", "limits"],
)
def test_every_profile_fits_its_model_and_is_called_as_its_file(kind: Mapping[str, Identified], count: int) -> None:
    """Given the profiles of a kind, when they are read, then none is missing and each id is its file's name."""
    assert [profile.id for profile in kind.values()] == list(kind)
    assert len(kind) == count


def test_the_upstream_tracker_has_every_row_once() -> None:
    """Given the tracker, when its rows are counted, then ids are unique, and a row with a number is one of its repository."""
    assert len(ROWS) == len(UPSTREAM.upstream) == 95
    assert Counter(row.status for row in UPSTREAM.upstream)[UpstreamStatus.NO_FIX_YET] == 11
    assert all(row.number for row in UPSTREAM.upstream if row.kind in ("issue", "pull"))
    assert all(row.repository.count("/") == 1 for row in UPSTREAM.upstream)


def test_drafters_and_models_name_each_other() -> None:
    """Given a drafter, when its models are looked up, then each exists and lists it, and no model lists another one."""
    by_drafter = {(name, model) for name, drafter in DRAFTERS.items() for model in drafter.models}
    by_model = {(drafter, name) for name, model in MODELS.items() for drafter in model.drafters}
    assert by_drafter == by_model
    assert {model for _, model in by_drafter} <= MODELS.keys()


def test_every_drafter_has_an_engine_that_can_run_it() -> None:
    """Given a drafter, when engines are asked, then one has its method, of its type where it names one."""
    for drafter in DRAFTERS.values():
        able = [engine for engine in ENGINES.values() if drafter.method in (engine.drafter_methods or ())]
        assert any(drafter.engine_type in (None, engine.type) for engine in able), drafter.id


def test_every_family_is_one_that_an_engine_knows() -> None:
    """Given the families of models and limits, when engines are asked, then a build or an engine for any family takes them."""
    proven = {family for engine in ENGINES.values() if isinstance(engine.families, tuple) for family in engine.families}
    named = {model.family for model in MODELS.values()}
    assert named - proven == SERVED_BY_ANY_ALONE
    assert proven <= named
    assert {family for limit in LIMITS.values() for family in limit.applies_to.families} <= named
    takes_any = {engine.type for engine in ENGINES.values() if engine.families == "any"}
    assert takes_any == set(DialectName)


def test_engines_for_ggufs_take_every_family() -> None:
    """Given the llama.cpp profiles, when they are read, then they take any family, GGUF alone, and run without a card."""
    engines = [engine for engine in ENGINES.values() if engine.type is DialectName.LLAMACPP]
    assert len(engines) == 3
    for engine in engines:
        assert (engine.families, engine.weight_formats, engine.cpu) == ("any", (WeightFormat.GGUF,), True)
        assert KvFormat.FP16 in (engine.kv_formats or ()), "llama-server's own default"


def test_every_weights_format_of_a_model_is_one_that_an_engine_loads() -> None:
    """Given weights of a model itself, when engines are asked, then one loads their format."""
    loadable = {form for engine in ENGINES.values() for form in engine.weight_formats or ()}
    used = {w.format for model in MODELS.values() for w in model.weights.values() if w.role is WeightsRole.TARGET}
    assert used <= loadable
    assert WeightFormat.SAFETENSORS not in loadable


def test_engines_and_cards_know_every_kv_format_together() -> None:
    """Given the closed list of KV formats, when profiles are read, then each is on an engine and on a card."""
    on_cards = {kv for card in HARDWARE.values() for kv in card.kv_formats or ()}
    on_engines = {kv for engine in ENGINES.values() for kv in engine.kv_formats or ()}
    assert on_cards == on_engines == set(KvFormat)
    preferred = {
        (card.id, kv)
        for card in HARDWARE.values()
        if (choice := card.preferred_kv_format)
        for kv in (choice.long_context, choice.multi_stream, choice.balanced)
    }
    assert all(kv in (HARDWARE[card].kv_formats or ()) for card, kv in preferred)


def test_drafting_methods_are_all_in_use() -> None:
    """Given the closed list of drafting methods, when engines are read, then each is supported by one."""
    assert {method for engine in ENGINES.values() for method in engine.drafter_methods or ()} == set(DrafterMethod)


def overlay_references() -> Iterator[tuple[str, str]]:
    """Every overlay that a profile names, with who names it."""
    for engine in ENGINES.values():
        pinned = engine.pin.overlays if engine.pin else ()
        named = (*engine.required_overlays, *engine.vendored_overlays, *engine.feature_origin.values(), *pinned)
        yield from ((engine.id, overlay) for overlay in named)
    for limit in LIMITS.values():
        yield from ((limit.id, overlay) for overlay in limit.applies_to.without_overlays)
    for row in UPSTREAM.upstream:
        yield from ((row.id, overlay) for overlay in row.workaround_overlays)


def upstream_references() -> Iterator[tuple[str, str]]:
    """Every row of the tracker that is named, with who names it."""
    for engine in ENGINES.values():
        if engine.pin:
            yield from ((engine.id, row) for row in (*engine.pin.contains, *engine.pin.lacks))
    for limit in LIMITS.values():
        yield from ((limit.id, row) for row in limit.upstream)
    for build in UPSTREAM.builds:
        yield from ((build.revision, row) for row in build.contains)
    for row in UPSTREAM.upstream:
        yield from ((row.id, other) for other in row.related)


def test_references_lead_somewhere() -> None:
    """Given every overlay, tracker row and engine that a profile names, when looked up, then each is known."""
    assert [(who, overlay) for who, overlay in overlay_references() if overlay not in OVERLAYS] == []
    assert [(who, row) for who, row in upstream_references() if row not in ROWS] == []
    successors = {engine.pin.successor for engine in ENGINES.values() if engine.pin} - {None}
    assert successors <= ENGINES.keys()
    known = {*ENGINES, *MODELS, *DRAFTERS}
    affected = {name for row in UPSTREAM.upstream for name in row.affects if "/" not in name}
    assert affected <= known
    assert {model for limit in LIMITS.values() for model in limit.applies_to.models} <= MODELS.keys()


def test_features_that_an_overlay_brings_are_features() -> None:
    """Given the origins of features, when they are compared, then each is of a feature that the build has."""
    for engine in ENGINES.values():
        assert {name for name, has in engine.features.items() if has is True} >= engine.feature_origin.keys(), engine.id


def test_images_are_named_by_a_tag_or_left_to_the_estate() -> None:
    """Given the engines' images, when they are read, then each has a tag, or there is a word on why there is none."""
    for engine in ENGINES.values():
        if engine.image is None:
            assert engine.package or engine.type in (DialectName.GENERIC, DialectName.SGLANG), engine.id
        else:
            assert ":" in engine.image.rpartition("/")[2], engine.id
            assert not engine.image.endswith(":latest"), engine.id


def test_engines_are_of_types_that_steward_speaks_to() -> None:
    """Given the engines' types, when dialects are looked up, then each but SGLang, which was never run, has to have one."""
    assert {engine.type for engine in ENGINES.values()} - {DialectName.SGLANG} <= DIALECTS.keys()


def test_images_that_are_gone_are_the_four_nightly_builds() -> None:
    """Given what is known of images, when it is read, then a state has its day, and only the data's four are purged."""
    states = {name: engine.availability for name, engine in ENGINES.items()}
    assert {name for name, found in states.items() if found.state is AvailabilityState.PURGED} == {
        "vllm-nightly-clean",
        "vllm-nightly-dflash",
        "vllm-nightly-full",
        "vllm-nightly-mtp",
    }
    assert all((found.as_of is None) == (found.state is AvailabilityState.UNKNOWN) for found in states.values())


def test_no_reading_of_a_driver_fits_two_cards() -> None:
    """Given two card types of one name, when totals that either may report are tried, then only its own type takes each."""
    for first, second in combinations(HARDWARE.values(), 2):
        for name in set(first.names) & set(second.names):
            for card, other in ((first, second), (second, first)):
                totals = {card.usable_bytes, int(card.memory_gib * GIB), int(card.memory_gib * 0.92 * GIB)}
                assert all(card.describes(name, total) and not other.describes(name, total) for total in totals), name


def test_every_card_has_the_names_that_its_driver_reports() -> None:
    """Given the cards, when their names are read, then each has one, and it can use no more memory than it has."""
    for card in HARDWARE.values():
        assert card.names, card.id
        assert 0 < card.usable_bytes <= card.memory_gib * GIB, card.id


def test_geometry_of_one_name_is_one_geometry() -> None:
    """Given models that share a geometry's name, when compared, then the layers' numbers are the same."""
    seen: dict[str, Architecture] = {}
    kinds = {"layers", "full_attention", "sliding_attention", "linear_attention", "latent_attention", "hidden_size"}
    for model in MODELS.values():
        if name := model.architecture.name:
            first = seen.setdefault(name, model.architecture)
            assert model.architecture.model_dump(include=kinds) == first.model_dump(include=kinds), model.id
    assert len(seen) == 54


def test_tensor_parallelism_divides_the_heads() -> None:
    """Given the values of tp that a model declares, when its heads are divided, then nothing is left over."""
    for model in MODELS.values():
        heads = model.architecture.query_heads
        assert heads is None or all(heads % tp == 0 for tp in model.valid_tp or ()), model.id
        assert list(model.valid_tp or ()) == sorted(set(model.valid_tp or ())), model.id


def test_weights_ids_are_written_alike() -> None:
    """Given the ids of weights, when they are read, then they are written with `_`, and found with `-` as well."""
    for model in MODELS.values():
        assert all(name == name.replace("-", "_").lower() for name in model.weights), model.id
    assert MODELS["agents-a1"].variant("fp8-dynamic") is MODELS["agents-a1"].weights["fp8_dynamic"]
    assert MODELS["agents-a1"].variant("fp8") is None


def test_what_is_said_fits_the_page() -> None:
    """Given the texts of the tracker and of limits, when they are read, then each is a sentence or two."""
    texts = [text for row in UPSTREAM.upstream for text in (row.title, row.effect, row.note)]
    texts += [text for limit in LIMITS.values() for text in (limit.title, *limit.evidence, *limit.way_out)]
    assert max(map(len, texts)) <= 260
