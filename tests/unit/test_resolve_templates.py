"""Templates: what they extend, what is wrong with them, and how a service becomes a container."""

from __future__ import annotations

import pytest

from controller.model.resolved import Mount, Ulimit
from controller.resolve.compose_values import compose_bytes, compose_seconds
from controller.resolve.image_reference import is_reference
from tests.unit.resolving import CATALOGUE, errors_of, one, places, problems, resolved, shown

ENTRY = "name: a, compose: llama/mine, gpus: [], port: 8010, set: {model_file: a.gguf}"
BASE = """
x-steward:
  engine: llama
  note: base
  requires: {gpus: 0, nvlink: true}
  parameters: {model_file: {}, max_model_len: {default: 4096, max: 8192}}
services:
  engine:
    user: root
    command: [--base]
    environment: [A=1, B=2]
    volumes: [/data:/data, /models:/models:ro]
    cap_add: [SYS_NICE]
    ulimits: {memlock: -1, nofile: {soft: 10, hard: 20}}
"""


def with_template(text: str, **more: str) -> dict[str, str]:
    """The catalogue with `llama/mine`, and others by name with `__` for the slash."""
    others = {f"composes/{name.replace('__', '/')}": body for name, body in more.items()}
    return {**CATALOGUE, "composes/llama/mine": text, **others}


def with_service(service: str) -> dict[str, str]:
    """The catalogue with a template whose service has these lines."""
    lines = "\n".join(f"    {line}" for line in service.strip().splitlines())
    return with_template(f"x-steward: {{engine: llama, parameters: {{model_file: {{}}}}}}\nservices:\n  engine:\n{lines}\n")


def template_errors(service: str) -> list[str]:
    """The errors of an instance whose template has these lines in its service."""
    return errors_of(ENTRY, catalogue=with_service(service))


def test_extends_follows_compose() -> None:
    """Given a template that extends another, when it is resolved, then each key is merged or replaced as Compose does it."""
    over = """
    x-steward: {requires: {gpus: 0, nvlink: false}, parameters: {max_model_len: {default: 2048}, max_num_seqs: {default: 2}}}
    services:
      engine:
        extends: {file: ../base.yml, service: engine}
        command: [--over]
        environment: {B: 3, A: null, C: x}
        volumes: [/other:/data:ro]
        cap_add: [SYS_NICE, IPC_LOCK]
    """
    instance = one(ENTRY, catalogue=with_template(over, base=BASE))
    spec = instance.spec
    assert spec.argv[-1] == "--over"
    assert "--base" not in spec.argv
    assert spec.env == (("B", "3"), ("C", "x"))
    assert spec.mounts == (Mount("/other", "/data", read_only=True), Mount("/models", "/models", read_only=True))
    assert spec.cap_add == ("SYS_NICE", "IPC_LOCK")
    assert (spec.user, spec.ulimits) == ("root", (Ulimit("memlock", -1, -1), Ulimit("nofile", 10, 20)))
    assert (instance.parameters["max_model_len"], instance.parameters["max_num_seqs"]) == (2048, 2)
    origins = instance.origins
    assert str(origins["user"].place).startswith("composes/base.yml:")
    assert str(origins["set.max_model_len"].place).startswith("composes/llama/mine.yml:")


def test_a_base_is_only_there_to_be_extended() -> None:
    """Given a document whose name begins with `_`, when a template extends it, then it may; an instance may not name it."""
    catalogue = with_template("services: {engine: {extends: {file: _base.yml}}}", llama___base=BASE)
    assert one(ENTRY, catalogue=catalogue).spec.user == "root"
    (error,) = errors_of(ENTRY.replace("llama/mine", "llama/_base"), catalogue=catalogue)
    assert "there is no template llama/_base" in error


def test_a_value_of_the_base_that_is_wrong_is_told_at_the_base() -> None:
    """Given a base with a wrong value, when an extending template is resolved, then the base's line is told."""
    over = "services: {engine: {extends: {file: ../base.yml, service: engine}}}"
    found = problems(f"estate: [{{{ENTRY}}}]", catalogue=with_template(over, base=BASE.replace("gpus: 0", "gpus: -1")))
    assert places(found) == ["composes/base.yml:5:20"]


@pytest.mark.parametrize(
    ("extends", "expected"),
    [
        ("{file: other.yml, service: engine}", "there is no template llama/other to extend"),
        ("{file: mine.yml, service: engine}", "a circle of extends: llama/mine -> llama/mine"),
        ("{file: any.yml, service: web}", "every template has the one service engine"),
        ("any.yml", "expected extends: {file: other.yml, service: engine}"),
    ],
)
def test_extends_that_leads_nowhere(extends: str, expected: str) -> None:
    """Given an extends that cannot be followed, when it is resolved, then the error stands at it."""
    assert any(expected in line for line in template_errors(f"extends: {extends}"))


def test_a_circle_of_templates_names_its_members() -> None:
    """Given two templates that extend each other, when they are resolved, then the circle is written out."""
    body = "x-steward: {{engine: llama}}\nservices: {{engine: {{extends: {{file: {0}.yml, service: engine}}}}}}"
    found = errors_of(ENTRY, catalogue=with_template(body.format("two"), llama__two=body.format("mine")))
    assert found == [
        "services.engine.extends.file compose: a circle of extends: llama/mine -> llama/two -> llama/mine | "
        "let the last of them extend nothing (used by a)"
    ]


def test_a_broken_template_is_told_once_with_its_users() -> None:
    """Given two instances of one broken template, when they are resolved, then its problem comes once, at its own file."""
    second = ENTRY.replace("name: a", "name: b").replace("8010", "8011")
    found = problems(f"estate: [{{{ENTRY}}}, {{{second}}}]", catalogue=with_service("privileged: true"))
    assert places(found) == ["composes/llama/mine.yml:4:5"]
    assert "privileged" in found[0].message
    assert found[0].hint.endswith("(used by a, b)")


@pytest.mark.parametrize("key", ["ports", "restart", "container_name", "networks", "deploy", "init", "logging", "labels"])
def test_a_key_that_steward_sets_itself_says_so(key: str) -> None:
    """Given a key of the service that is Steward's own, when it is resolved, then the error explains it."""
    found = template_errors(f"{key}: x")
    assert len(found) == 1
    assert key in found[0]
    assert "did you mean" not in found[0]


def test_env_file_is_refused_with_the_way_out() -> None:
    """Given env_file, when it is resolved, then the error says where to write the variables."""
    assert template_errors("env_file: .env") == [
        "services.engine.env_file compose: env_file is not read by this version | "
        "write the variables under environment, secrets as {secret: NAME} (used by a)"
    ]


def test_anchors_may_live_in_extension_blocks() -> None:
    """Given an `x-` block of one's own with an anchor, when it is resolved, then it is no unknown key."""
    text = "x-env: &env {A: '1'}\nx-steward: {engine: llama, parameters: {model_file: {}}}\n"
    text += "services: {engine: {environment: *env}}"
    assert one(ENTRY, catalogue=with_template(text)).spec.env == (("A", "1"),)


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("services: x", "`services`"),
        ("environment: [A]", "expected KEY=value"),
        ("environment: {A: '${HOME}'}", "there is no variable HOME"),
        ("environment: {A: '${STEWARD_PROT}'}", "did you mean ${STEWARD_PORT}?"),
        ("environment: {A: a$}", "a single $ begins a variable"),
        ("command: ['${STEWARD_ENGINE_CACHE}']", "is known only when the container is created"),
        ("volumes: [data:/data]", "data is no absolute host path"),
        ("volumes: [./data:/data]", "./data is no absolute host path"),
        ("volumes: [/data]", "expected a bind mount"),
        ("volumes: ['/a:/b:z']", "expected a bind mount"),
        ("volumes: ['/a:b']", "expected a bind mount"),
        ("volumes: ['/a:/b', '/c:/b/']", "/b is mounted twice"),
        ("volumes: [{type: bind, source: /a, target: /b}]", "services.engine.volumes[0]"),
        ("shm_size: 16gigs", "expected a size such as 16gb"),
        ("mem_limit: 0", "expected a size such as 16gb"),
        ("stop_grace_period: 30", "services.engine.stop_grace_period"),
        ("stop_grace_period: soon", "expected a duration such as 30s"),
        ("ipc: service:x", "ipc service:x is not supported"),
        ("cpus: 0", "expected more than 0 processors"),
        ("image: A B", "A B is no image reference"),
        ("user: 1000", "quote it"),
    ],
)
def test_a_service_that_cannot_be(service: str, expected: str) -> None:
    """Given a value of the service that has no meaning here, when it is resolved, then the error names it."""
    assert any(expected in line for line in template_errors(service)), template_errors(service)


def test_two_services_are_one_too_many() -> None:
    """Given a template with a second service, when it is resolved, then it is told that there is one, engine."""
    text = "x-steward: {engine: llama}\nservices: {engine: {}, web: {image: x}}"
    assert "services.web" in errors_of(ENTRY, catalogue=with_template(text))[0]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("engine: lama", "there is no engine profile lama"),
        ("engine: llama, parameters: {max_model_le: {}}", "there is no parameter max_model_le | did you mean max_model_len?"),
        ("engine: llama, parameters: {dtype: {}}", "dtype is no parameter of llamacpp"),
        ("engine: llama, parameters: {max_model_len: {default: 12}}", "expected a whole number from 256"),
        ("engine: llama, parameters: {max_model_len: {default: 4096, max: 2048}}", "above the template's maximum 2048"),
        ("engine: llama, parameters: {model_file: {max: 3}}", "model_file is no number"),
        ("engine: llama, readiness: tcp", "readiness is for engines of type generic"),
        ("engine: other, readiness: {http: up}", "expected a path that begins with /"),
        ("engine: llama, modell: x", "did you mean `model`?"),
        ("model: x", "engine"),
    ],
)
def test_an_x_steward_block_that_cannot_be(block: str, expected: str) -> None:
    """Given a wrong x-steward block, when it is resolved, then the error names what is wrong in it."""
    text = f"x-steward: {{{block}}}\nservices: {{engine: {{}}}}"
    found = errors_of("name: a, compose: llama/mine, gpus: [], port: 8010", catalogue=with_template(text))
    assert any(expected in line for line in found), found


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("id: llama\ntype: lama\nimage: null\n", "did you mean `llamacpp`?"),
        ("id: llama\ntype: vllm\nimage: A:B:C\n", "A:B:C is no image reference"),
        ("id: llama\ntype: vllm\n", "image"),
    ],
)
def test_an_engine_profile_that_cannot_be(profile: str, expected: str) -> None:
    """Given a wrong engine profile, when a template uses it, then the error stands at the profile."""
    found = problems(f"estate: [{{{ENTRY}}}]", catalogue={**with_service("user: root"), "profiles/engines/llama": profile})
    assert any(expected in line for line in shown(found)), shown(found)
    assert places(found)[0].startswith("profiles/engines/llama.yml:")


def test_variables_are_expanded_everywhere() -> None:
    """Given variables in all kinds of values, when it is resolved, then each stands for its value, the cache for itself."""
    service = """
    user: "$$me"
    working_dir: /home/${STEWARD_INSTANCE}
    command: [--port, "${STEWARD_PORT}", --models=$STEWARD_MODELS]
    tmpfs: ["/tmp/${STEWARD_INSTANCE}"]
    environment: {HF: "${STEWARD_HF_CACHE}", P: "${STEWARD_PORT}${STEWARD_PORT}"}
    volumes: ["${STEWARD_ENGINE_CACHE}:/cache", "${STEWARD_MODELS}/sub:/m/${STEWARD_INSTANCE}:ro"]
    """
    estate = f"rig: {{paths: {{models: /m/}}}}\nestate: [{{{ENTRY}}}]"
    spec = resolved(estate, catalogue=with_service(service.strip().replace("\n    ", "\n"))).instances[0].spec
    assert (spec.user, spec.working_dir, spec.tmpfs) == ("$me", "/home/a", ("/tmp/a",))
    assert spec.argv[-3:] == ("--port", "8080", "--models=/m")
    assert dict(spec.env) == {"HF": "/srv/hf", "P": "80808080"}
    assert spec.mounts == (Mount("${STEWARD_ENGINE_CACHE}", "/cache"), Mount("/m/sub", "/m/a", read_only=True))


def test_required_parallel_sizes_reach_the_engine() -> None:
    """Given `requires: {tp: 2}`, when the template is resolved, then the engine is told so, and only two cards fit."""
    text = (
        "x-steward: {engine: vllm, requires: {gpus: 2, tp: 2}, parameters: {model_path: {default: m}}}\n"
        "services: {engine: {ipc: host}}"
    )
    entry = "name: a, compose: llama/mine, gpus: [0, 1], port: 8010"
    instance = one(entry, catalogue=with_template(text))
    argv = instance.spec.argv
    assert argv[argv.index("--tensor-parallel-size") + 1] == "2"
    assert str(instance.origins["set.tensor_parallel_size"].place) == "composes/llama/mine.yml:1:51"
    assert "2 x pipeline_parallel_size 1 = 2, but" in errors_of(entry.replace("0, 1", "0"), catalogue=with_template(text))[0]
    closed = errors_of(f"{entry}, set: {{tensor_parallel_size: 1}}", catalogue=with_template(text))
    assert "does not open tensor_parallel_size" in closed[0]


@pytest.mark.parametrize(
    ("text", "size"),
    [("16gb", 2**34), ("512m", 2**29), ("1024", 1024), ("2 KB", 2048), ("1.5GiB", 3 * 2**29), ("7b", 7), (64, 64)],
)
def test_compose_bytes(text: str | int, size: int) -> None:
    """Given a size in one of Compose's forms, when it is read, then it is in bytes."""
    assert compose_bytes(text) == size


@pytest.mark.parametrize("text", ["", "gb", "-1", "1.2.3m", "1e3", 0, "1 gigabyte"])
def test_no_compose_bytes(text: str | int) -> None:
    """Given a text that is no size, when it is read, then that is an error."""
    with pytest.raises(ValueError, match="expected a size"):
        compose_bytes(text)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30.0), ("1m30s", 90.0), ("500ms", 0.5), ("1h", 3600.0), ("2.5s", 2.5)])
def test_compose_seconds(text: str, seconds: float) -> None:
    """Given a duration in Compose's form, when it is read, then it is in seconds."""
    assert compose_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("ubuntu", True),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b10236", True),
        ("localhost:5000/a/b:1.2_x", True),
        (f"vllm/vllm-openai@sha256:{'0' * 64}", True),
        (f"sha256:{'a' * 64}", True),
        ("vllm/vllm-openai:v1@sha256:00", False),
        ("Upper:1", False),
        ("a:b:c", False),
        ("a/b/", False),
        ("", False),
    ],
)
def test_image_references(text: str, is_one: bool) -> None:
    """Given a text, when it is asked whether Docker takes it as an image, then the answer is Docker's."""
    assert is_reference(text) is is_one
