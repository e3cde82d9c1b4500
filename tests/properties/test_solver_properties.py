"""What holds of the rules whatever the estate: random instances of the catalogue's engines, models and cards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.compose import Requires
from controller.model.parameters import PARAMETERS
from controller.model.profile_words import KvFormat
from controller.model.reading import Known
from controller.model.rig import RigFacts
from controller.model.verdict import Outcome
from controller.solver import RULES, Candidate, RigView, Tenant, TypedCard, judge
from tests.unit.judging import card
from tests.unit.profiles import DRAFTERS, ENGINES, HARDWARE, LIMITS, MODELS, WORKLOADS

EXAMPLES: Final = 60
ALONE: Final = {rule.id for rule in RULES if rule.alone is not None}
SHARED: Final = {rule.id for rule in RULES if rule.together is not None}
OUTCOMES: Final = {"error": Outcome.BROKEN, "warning": Outcome.WARNS, "info": Outcome.NOTES}


@st.composite
def rigs(draw: st.DrawFn) -> tuple[TypedCard, ...]:
    """Up to four cards of any types, some of them with others' memory on them."""
    types = draw(st.lists(st.sampled_from(sorted(HARDWARE)), min_size=1, max_size=4))
    held = st.sampled_from([0, 2**29, 9 * 2**30])
    return tuple(card(index, kind, foreign_bytes=draw(held)) for index, kind in enumerate(types))


@st.composite
def instances(draw: st.DrawFn, name: str, on: tuple[TypedCard, ...]) -> Candidate:
    """Any engine with any model, drafter and settings, on some of the cards."""
    engine = draw(st.sampled_from(list(ENGINES.values())))
    model = draw(st.none() | st.sampled_from(list(MODELS.values())))
    chosen = draw(st.sampled_from(sorted(model.weights))) if model and model.weights else ""
    mine = draw(st.lists(st.sampled_from(on), unique_by=lambda one: one.card.index, max_size=len(on)))
    tenant = Tenant(
        name,
        draw(st.booleans()),
        draw(st.integers(8010, 8013)),
        tuple(one.card.index for one in mine),
        exclusive=draw(st.booleans()),
        tensor=draw(st.none() | st.integers(1, 4)),
        pipeline=draw(st.none() | st.integers(1, 2)),
        needs_nvlink=draw(st.booleans()),
        cpu=engine.cpu,
        engine=engine.id,
    )
    return Candidate(
        tenant,
        engine,
        Requires(compute_capability=draw(st.none() | st.sampled_from([7.5, 9.0])), min_vram_gib=draw(st.none() | st.just(24))),
        image=draw(st.sampled_from([engine.image or "", "mine:1"])),
        parameters=draw(settings_of()),
        env=draw(st.sampled_from([{}, {"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "GPU-1"}])),
        served_names=tuple(draw(st.lists(st.sampled_from(["a", "b"]), max_size=2))),
        model=model,
        weights_id=chosen.replace("-", "_"),
        weights=model.weights.get(chosen) if model else None,
        drafter=draw(st.none() | st.sampled_from(list(DRAFTERS.values()))),
        workload=draw(st.none() | st.sampled_from(list(WORKLOADS.values()))),
        open_parameters=frozenset(PARAMETERS),
        cards=Known(tuple(mine)),
    )


@st.composite
def settings_of(draw: st.DrawFn) -> dict[str, Any]:
    """Some parameters."""
    values: dict[str, st.SearchStrategy[Any]] = {
        "kv_cache_dtype": st.sampled_from([*(member.value for member in KvFormat), "auto", "fp8", "int3"]),
        "max_model_len": st.sampled_from([4096, 65536, 262144, 10_000_000]),
        "max_num_batched_tokens": st.sampled_from([64, 8192]),
        "max_num_seqs": st.sampled_from([1, 256]),
        "enable_chunked_prefill": st.booleans(),
        "gpu_memory_utilization": st.sampled_from([0.3, 0.92]),
        "spec_method": st.sampled_from(["mtp", "dflash", "eagle3", "suffix"]),
        "spec_tokens": st.integers(1, 8),
        "attention_backend": st.sampled_from(["FLASH_ATTN", "FLASH_ATTN_3", "TRITON"]),
    }
    names = draw(st.lists(st.sampled_from(sorted(values)), unique=True))
    return {name: draw(values[name]) for name in names}


@st.composite
def views(draw: st.DrawFn) -> RigView:
    """Up to five instances on one rig; their names occur in no message by chance."""
    on = draw(rigs())
    candidates = tuple(draw(instances(f"zq{number}", on)) for number in range(draw(st.integers(1, 5))))
    links = ((0, 1),) if len(on) > 1 and draw(st.booleans()) else ()
    table = RigFacts(Known(tuple(one.card for one in on)), links)
    types = {one.card.uuid: one.profile for one in on if one.profile is not None}
    return RigView(candidates, table, types, tuple(LIMITS.values()))


@settings(max_examples=EXAMPLES, deadline=None)
@given(views(), st.randoms())
def test_order_does_not_matter(view: RigView, chance: Any) -> None:
    """Given instances, when their order is another, then each has the same verdicts, and the same rules break between them."""
    mixed = list(view.candidates)
    chance.shuffle(mixed)
    there, back = judge(view), judge(replace(view, candidates=tuple(mixed)))
    assert judge(view) == there
    own = [{verdict for verdict in one.verdicts if verdict.rule not in SHARED} for one in (there, back)]
    crowded = [{v for v in verdicts if not (v.rule == "C12" and "shared with" in v.text)} for verdicts in own]
    assert crowded[0] == crowded[1]
    assert {f.rule for f in there.findings if f.rule in SHARED} == {f.rule for f in back.findings if f.rule in SHARED}


@settings(max_examples=EXAMPLES, deadline=None)
@given(views())
def test_neighbours_do_not_matter(view: RigView) -> None:
    """Given instances, when one of them is judged by itself, then what rules say of it alone is the same."""
    together = {verdict for verdict in judge(view).verdicts if verdict.rule in ALONE}
    apart = {v for one in view.candidates for v in judge(replace(view, candidates=(one,))).verdicts if v.rule in ALONE}
    assert together == apart


@settings(max_examples=EXAMPLES, deadline=None)
@given(views())
def test_nobody_is_named_by_the_way(view: RigView) -> None:
    """Given instances, when they are judged, then a finding names a neighbour only where it says which one it collides with."""
    names = {candidate.name for candidate in view.candidates}
    for finding in judge(view).findings:
        assert finding.instance in names
        assert finding.other in names - {finding.instance} | {""}
        assert finding.other or not any(name in finding.message for name in names - {finding.instance})


@settings(max_examples=EXAMPLES, deadline=None)
@given(views())
def test_every_rule_says_something_of_everyone(view: RigView) -> None:
    """Given instances, when they are judged, then each has one verdict a rule, as grave as the gravest that was found."""
    judged = judge(view)
    assert [(one.instance, one.rule) for one in judged.verdicts] == [(c.name, r.id) for c in view.candidates for r in RULES]
    for verdict in judged.verdicts:
        found = {OUTCOMES[f.severity] for f in judged.findings if (f.instance, f.rule) == (verdict.instance, verdict.rule)}
        assert verdict.outcome in (found or {Outcome.HOLDS, Outcome.NOTES, Outcome.SKIPPED})
        assert Outcome.BROKEN not in found or verdict.outcome is Outcome.BROKEN
        assert verdict.text or verdict.outcome is Outcome.HOLDS
