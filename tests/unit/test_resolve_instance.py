"""One entry with its template, profile and defaults filled in."""

from __future__ import annotations

import pytest

from controller.model.desired import RunState
from controller.model.fields import SecretRef
from controller.model.resolved import Mount, Readiness
from controller.resolve import Surroundings
from controller.resolve.explain import explain_text
from tests.unit.resolving import CATALOGUE, TWO_CARDS, errors_of, grave, one, outcome, problems, resolved, shown

VLLM = "name: chat, compose: vllm/any, gpus: [0], port: 8010, set: {model_path: qwen}"
LLAMA = "name: tiny, compose: llama/any, gpus: [], port: 8011, set: {model_file: a.gguf}"
WEB = "name: web, compose: other/web, gpus: [], port: 8012, image: web:1"


def with_set(extra: str) -> str:
    """The vLLM entry with more parameters."""
    return VLLM.replace("model_path: qwen", f"model_path: qwen, {extra}")


def test_the_container_is_complete() -> None:
    """Given a plain entry, when it is resolved, then image, argv, environment, mounts, port and cards all stand."""
    spec = one(VLLM).spec
    assert spec.image == "vllm/vllm-openai:v0.20.0"
    argv = [str(argument) for argument in spec.argv]
    assert argv[argv.index("--model") :][:2] == ["--model", "/models/qwen"]
    assert argv[argv.index("--max-model-len") :][:2] == ["--max-model-len", "8192"]
    assert argv[argv.index("--served-model-name") :][:2] == ["--served-model-name", "chat"]
    assert argv[-2:] == ["--seed", "1"]
    assert spec.env == (("CACHE", "/cache/chat"), ("LEVEL", "2"), ("PRICE", "5$"))
    assert spec.mounts == (
        Mount("/srv/models", "/models", read_only=True),
        Mount("${STEWARD_ENGINE_CACHE}/v", "/root/.cache/steward"),
    )
    assert (spec.port, spec.bind, spec.container_port, spec.gpus) == (8010, "127.0.0.1", 8000, ("GPU-0000",))
    assert spec.shm_bytes == 16 * 2**30


def test_the_profile_decides_the_inner_port_and_allows_no_card() -> None:
    """Given a profile with a port of its own and cpu, when an entry without cards uses it, then it is valid."""
    instance = one(LLAMA)
    assert (instance.spec.container_port, instance.cpu, instance.spec.gpus) == (8080, True, ())
    assert instance.serving.dialect.value == "llamacpp"


@pytest.mark.parametrize(
    ("entry", "template_image", "expected"),
    [
        (f"{VLLM}, image: mine:1", "theirs:1", "mine:1"),
        (VLLM, "theirs:1", "theirs:1"),
        (VLLM, None, "vllm/vllm-openai:v0.20.0"),
    ],
)
def test_the_nearest_image_counts(entry: str, template_image: str | None, expected: str) -> None:
    """Given images in entry, template and profile, when it is resolved, then the nearest to the entry counts."""
    template = CATALOGUE["composes/vllm/any"]
    if template_image:
        template = template.replace("shm_size", f"image: {template_image}\n    shm_size")
    assert one(entry, catalogue={**CATALOGUE, "composes/vllm/any": template}).spec.image == expected


def test_a_missing_image_is_told_with_the_place_to_write_it() -> None:
    """Given a profile without an image, when the entry has none either, then the error says where to set it."""
    entry = WEB.replace(", image: web:1", "")
    assert errors_of(entry) == [
        "estate[0] image: no image: engine profile other names none | add image: repository:tag to this entry"
    ]
    assert one(entry, around=Surroundings(TWO_CARDS, simulated=True)).spec.image == "steward-test/simulated:1"


@pytest.mark.parametrize("image", ["Web:1", "'web:'", "http://web", "web 1", "'-web'", "web@sha256:12"])
def test_what_docker_would_refuse_is_no_image(image: str) -> None:
    """Given a text that cannot be an image reference, when it is resolved, then that is said before anything stops."""
    assert "is no image reference" in errors_of(WEB.replace("web:1", image))[0]


def test_set_goes_over_the_templates_defaults() -> None:
    """Given set values, when they are resolved, then they win, null removes a default, and the rest stays."""
    instance = one(with_set("max_num_seqs: 8, max_model_len: null"))
    assert instance.parameters == {"model_path": "qwen", "tensor_parallel_size": 1, "max_num_seqs": 8}
    assert "--max-model-len" not in instance.spec.argv
    assert "set.max_model_len" not in instance.origins


def test_extra_args_come_last() -> None:
    """Given extra_args, which no template declares, when they are set, then they follow the template's command."""
    assert one(with_set("extra_args: [--foo, bar]")).spec.argv[-4:] == ("--seed", "1", "--foo", "bar")


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("max_model_le: 8192", "estate[0].set.max_model_le parameters: there is no parameter max_model_le"),
        ("gpu_layers: 3", "estate[0].set.gpu_layers parameters: gpu_layers is no parameter of vllm | vllm has api_key, "),
        ("dtype: half", "estate[0].set.dtype parameters: template vllm/any does not open dtype | it lets you set api_key, "),
        ("max_num_seqs: '8'", "estate[0].set.max_num_seqs parameters: max_num_seqs: expected a whole number"),
        ("max_model_len: 65536", "estate[0].set.max_model_len C11: max_model_len 65536 is above the template's maximum 32768"),
        ("gpu_memory_utilization: 0.3", "gpu_memory_utilization 0.3 is below the template's minimum 0.5"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(extra: str, expected: str) -> None:
    """Given a parameter that is unknown, foreign, closed, of a wrong type or out of bounds, then the error says which."""
    found = errors_of(with_set(extra))
    assert len(found) == 1
    assert expected in found[0]


def test_the_context_limit_may_be_waived() -> None:
    """Given a waiver of C11, when the context is above the template's maximum, then it is a warning with the reason."""
    waived = with_set("max_model_len: 65536") + ", waive: [{rule: C11, reason: tested by us, until: 2027-01-01T00:00:00Z}]"
    found = grave(resolved(f"estate: [{{{waived}}}]").problems)
    assert [(p.severity.value, p.message) for p in found] == [
        (
            "warning",
            "max_model_len 65536 is above the template's maximum 32768; waived until 2027-01-01T00:00:00.000Z: tested by us",
        )
    ]


@pytest.mark.parametrize(
    ("rule", "expected"), [("C1", "C1 cannot be waived"), ("E4", "E4 cannot be waived"), ("C77", "there is no rule C77")]
)
def test_a_waiver_names_a_rule_that_may_be_waived(rule: str, expected: str) -> None:
    """Given a waiver of a rule that is unknown or never waived, when it is resolved, then that is an error."""
    found = errors_of(f"{VLLM}, waive: [{{rule: {rule}, reason: x, until: 2027-01-01T00:00:00Z}}]")
    assert found[0].startswith(f"estate[0].waive[0].rule waive: {expected}")


def test_an_engine_without_a_model_is_refused_on_a_real_rig_only() -> None:
    """Given no model, when it is resolved, then it is an error, but not for the simulated engine."""
    entry = VLLM.replace(", set: {model_path: qwen}", "")
    assert errors_of(entry) == [
        "estate[0].set parameters: model_path is not set, so the engine has nothing to serve | add model_path to set"
    ]
    assert one(entry, around=Surroundings(TWO_CARDS, simulated=True)).parameters["max_num_seqs"] == 4


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (VLLM, ("chat",)),
        (with_set("served_name: qwen"), ("qwen",)),
        (f"{with_set('served_name: qwen')}, served_names: [a, b, a]", ("a", "b")),
        (WEB, ()),
    ],
)
def test_served_names(entry: str, expected: tuple[str, ...]) -> None:
    """Given names in several places, when it is resolved, then the entry's list wins, then set, then the instance's name."""
    assert one(entry).serving.served_names == expected


def test_served_names_of_the_template_and_wrong_ones() -> None:
    """Given a template with a name, when it is resolved, then it is used; a tenant that serves no model takes none."""
    named = CATALOGUE["composes/vllm/any"].replace("engine: vllm\n", "engine: vllm\n  served_name: qwen3\n")
    assert one(VLLM, catalogue={**CATALOGUE, "composes/vllm/any": named}).serving.served_names == ("qwen3",)
    assert "generic serves no model" in errors_of(f"{WEB}, served_names: [x]")[0]
    assert "a comma would make it two names" in errors_of(f"{VLLM}, served_names: ['a,b']")[0]


def test_the_environment_is_merged() -> None:
    """Given variables in template and entry, when they are resolved, then the entry's win, literally, and null removes."""
    spec = one(f"{VLLM}, env: {{LEVEL: 3, CACHE: null, RAW: 'a$b${{STEWARD_PORT}}', ON: true, TOKEN: {{secret: hf}}}}").spec
    assert dict(spec.env) == {
        "LEVEL": "3",
        "ON": "true",
        "PRICE": "5$",
        "RAW": "a$b${STEWARD_PORT}",
        "TOKEN": SecretRef(secret="hf"),
    }


def test_a_number_that_would_lose_its_spelling_is_refused() -> None:
    """Given `1.10` as a value, when it is resolved, then it is to be quoted; `yes` and `0644` are text as they are."""
    assert len(errors_of(f"{VLLM}, env: {{VERSION: 1.10}}")) == 1
    assert dict(one(f"{VLLM}, env: {{A: yes, B: 0644}}").spec.env).items() >= {"A": "yes", "B": "0644"}.items()


def test_secrets_are_looked_up_where_they_can_be() -> None:
    """Given secrets, when they can be looked up, then a missing one is placed; in a mere validation it is not asked for."""
    entry = with_set("api_key: {secret: key}") + ", env: {TOKEN: {secret: hf}}"
    instance = one(entry)
    assert instance.serving.api_key == SecretRef(secret="key")
    assert SecretRef(secret="key") in instance.spec.argv
    assert instance.secret_key == ""
    found = problems(f"estate: [{{{entry}}}]", around=Surroundings(TWO_CARDS, secret_digest={"hf": "d1"}.get))
    assert [(p.path, p.rule, p.message) for p in found] == [("estate[0].set.api_key", "secret", "there is no secret key")]
    assert found[0].place is not None
    assert found[0].place.column == len("estate: [{") + entry.index("{secret: key}") + 1


def test_live_settings_fall_through_key_by_key() -> None:
    """Given a block in entry and defaults, when it is resolved, then each key comes from the nearest that writes it."""
    instance = resolved(
        f"defaults: {{health: {{interval: 3s, misses: 5}}}}\nestate: [{{{VLLM}, health: {{misses: 7}}, state: stopped}}]"
    ).instances[0]
    health = instance.live.health
    assert (health.interval, health.misses, health.timeout) == (3.0, 7, 10.0)
    assert [instance.origins[f"health.{key}"].source for key in ("interval", "misses", "timeout")] == [
        "defaults",
        "estate",
        "default",
    ]
    assert instance.state is RunState.STOPPED


def test_the_templates_time_to_stop_stands_below_the_estates() -> None:
    """Given stop_grace_period in a template, when it is resolved, then it is drain.term unless the estate writes one."""
    template = CATALOGUE["composes/vllm/any"].replace("shm_size", "stop_grace_period: 1m30s\n    shm_size")
    catalogue = {**CATALOGUE, "composes/vllm/any": template}
    assert one(VLLM, catalogue=catalogue).live.drain.term == 90.0
    assert one(f"{VLLM}, drain: {{term: 5s}}", catalogue=catalogue).live.drain.term == 5.0
    assert (
        resolved(f"defaults: {{drain: {{term: 6s}}}}\nestate: [{{{VLLM}}}]", catalogue=catalogue).instances[0].live.drain.term
        == 6.0
    )


def test_a_gate_is_not_switched_off_without_a_reason() -> None:
    """Given a gate of null, when there is no reason, then it is an error where the null stands."""
    found = problems(f"defaults: {{gates: {{tps_min_ratio: null}}}}\nestate: [{{{VLLM}}}, {{{LLAMA}}}]")
    assert [(p.path, str(p.place)) for p in found] == [("defaults.gates.tps_min_ratio", "desired/estate.yml:1:35")]
    assert "estate[0].gates.vram_growth_mib" in errors_of(f"{VLLM}, gates: {{vram_growth_mib: null}}")[0]
    assert one(f"{VLLM}, gates: {{vram_growth_mib: null, reason: leaks by design}}").live.gates.vram_growth_mib is None


@pytest.mark.parametrize(
    ("entry", "ready", "port"),
    [
        (WEB, Readiness("http", "/up"), 7000),
        (f"{WEB}, set: {{ready_path: /ok, container_port: 7001}}", Readiness("http", "/ok"), 7001),
        (VLLM, Readiness(), 8000),
    ],
)
def test_readiness_and_inner_port(entry: str, ready: Readiness, port: int) -> None:
    """Given a generic tenant or an engine, when it is resolved, then each says how it is asked and where."""
    instance = one(entry)
    assert (instance.serving.readiness, instance.spec.container_port) == (ready, port)


def test_a_tenant_with_a_part_of_a_card_is_not_exclusive() -> None:
    """Given `claim: {vram: 8GiB}`, when it is resolved, then the tenant shares its card and says how much it takes."""
    template = CATALOGUE["composes/other/web"].replace("readiness", "claim: {vram: 8GiB}\n  readiness")
    instance = one(WEB, catalogue={**CATALOGUE, "composes/other/web": template})
    assert (instance.exclusive, instance.vram_claim_bytes) == (False, 8 * 2**30)
    assert one(f"{VLLM}, share: true").exclusive is False


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("bind: localhost", "estate[0].bind bind: localhost is no IP address"),
        ("networks: [ui, host]", "estate[0].networks[1] networks: host is no network to join"),
        ("overlays: [patch]", "estate[0].overlays[0] overlay: there is no overlay patch"),
        ("overlays: ['-patch']", "estate[0].overlays[0] overlay: template vllm/any has no overlay patch to remove"),
        ("env: {'A=B': 1}", "'A=B' is no name of a variable"),
    ],
)
def test_other_values_that_mean_nothing(extra: str, expected: str) -> None:
    """Given a value of the right type that cannot work, when it is resolved, then the error names it."""
    assert expected in errors_of(f"{VLLM}, {extra}")[0]


def test_bind_and_networks_reach_the_container() -> None:
    """Given an address for all and one for an entry, when they are resolved, then the nearest counts."""
    found = resolved(f"defaults: {{bind: 0.0.0.0}}\nestate: [{{{VLLM}, networks: [ui]}}, {{{LLAMA}, bind: '::1'}}]").instances
    assert [(i.spec.bind, i.serving.bind, i.spec.networks) for i in found] == [
        ("0.0.0.0", "0.0.0.0", ("ui",)),
        ("::1", "::1", ()),
    ]
    assert "defaults.bind" in shown(problems(f"defaults: {{bind: here}}\nestate: [{{{VLLM}}}]"))[0]


def test_explain_shows_every_value_with_its_origin() -> None:
    """Given a resolved instance, when it is explained, then columns are aligned and a secret is a name."""
    text = explain_text(one(with_set("api_key: {secret: key}") + ", health: {interval: 2s}")).split("\n\n")[0]
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in text.splitlines()}
    assert lines["image"].split() == ["vllm/vllm-openai:v0.20.0", "profile", "profiles/engines/vllm.yml:3:8"]
    assert lines["set.api_key"].startswith("{secret: key}")
    assert lines["set.max_num_seqs"].split() == ["4", "compose", "composes/vllm/any.yml:8:29"]
    assert lines["health.interval"].split()[:2] == ["2s", "estate"]
    assert lines["health.misses"].split(maxsplit=1) == ["3", "built-in default"]
    assert "volumes./models" in lines
    assert "env.CACHE" in lines
    starts = {line.index("estate  ") for line in text.splitlines() if line.split()[0] in ("compose", "port", "gpus")}
    assert len(starts) == 1


def test_the_fields_of_a_spec_leave_out_live_keys() -> None:
    """Given two entries that differ in live keys only, when their fields are compared, then nothing differs."""
    before, after = one(VLLM), one(f"{VLLM}, health: {{interval: 1s}}, depends_on: [], share: true, state: stopped")
    assert before.spec_fields() == after.spec_fields()
    assert one(with_set("max_num_seqs: 9")).spec_fields()["set.max_num_seqs"] == "9"


def test_nothing_of_a_broken_rig_is_resolved() -> None:
    """Given one good and one bad entry, when they are resolved, then there is no half of an estate."""
    assert isinstance(outcome(f"estate: [{{{VLLM}}}, {{name: x}}]"), tuple)
