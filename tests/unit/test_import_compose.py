"""Compose files of engines become estates: what Steward renders comes back, and what people wrote is carried or told."""

from __future__ import annotations

from typing import Final

import pytest

from controller.model.document import Document, Plain
from controller.model.resolved import Resolved
from controller.model.rig import RigFacts
from controller.resolve import Surroundings, resolve
from controller.resolve.importing import Host, Ledger, Sources, imported, read_variables
from controller.resolve.profiles import Profiles
from controller.resolve.render import render
from controller.sources.rig_facts import rig_facts
from controller.sources.yaml_reader import read_document
from tests.unit.argv_text import argv_text
from tests.unit.templates import BOUNDS, CATALOGUE, RIG, alone

HOST: Final = Host("/data", "/home/somebody")
RENDERED: Final = ("vllm/dual", "vllm/dual-turbo", "historical/vllm/minimal", "llamacpp/concurrent", "llamacpp/tess-dual-mtp")


def compose(text: str, env: str = "") -> tuple[str, list[str]]:
    """What a Compose file becomes, and what is told as `line: message`."""
    document = read_document("compose.yml", text.encode(), BOUNDS)
    assert isinstance(document, Document), document
    ledger = Ledger()
    variables = read_variables(".env", env, ledger)
    written = imported(Sources(document, variables, HOST, HOST), Profiles(CATALOGUE), ledger)
    assert written is not None
    assert all(problem.place is not None for problem in ledger.problems), "everything has its place"
    return written, [f"{problem.place.line}: {problem.message}" for problem in ledger.problems if problem.place]


def estate(text: str) -> dict[str, Plain]:
    """An estate as its data."""
    document = read_document("estate.yml", text.encode(), BOUNDS)
    assert isinstance(document, Document), document
    assert isinstance(document.data, dict)
    return document.data


def entry(text: str) -> dict[str, Plain]:
    """The first instance of an estate."""
    listed = estate(text)["estate"]
    assert isinstance(listed, list)
    first = listed[0]
    assert isinstance(first, dict)
    return first


def service(*lines: str) -> str:
    """A Compose file with one service of a vLLM image."""
    return "\n".join(["services:", "  one:", "    image: vllm/vllm-openai:v0.27.1", *(f"    {line}" for line in lines), ""])


def parameters(text: str) -> Plain:
    """What the first instance sets."""
    return entry(text)["set"]


def resolved(text: str) -> Resolved:
    """The estate on four cards."""
    document, facts = read_document("estate.yml", text.encode(), BOUNDS), rig_facts(RIG, CATALOGUE, BOUNDS)
    assert isinstance(document, Document), document
    assert isinstance(facts, RigFacts), facts
    found = resolve([document], CATALOGUE, Surroundings(facts, held=True), "rev")
    assert isinstance(found, Resolved), found
    return found


@pytest.mark.parametrize("name", RENDERED)
def test_what_steward_renders_comes_back(name: str) -> None:
    """Given a rendered instance, when its Compose document is imported, then the engine gets the same arguments and image."""
    before = alone(name)
    assert isinstance(before, Resolved), before
    instance = before.instances[0]
    text, _ = compose(render(instance, before.rig))
    again = resolved(text).instances[0]
    lines = [line for line in argv_text(again.spec.argv).splitlines() if line != "--pipeline-parallel-size 1"]
    assert sorted(lines) == sorted(argv_text(instance.spec.argv).splitlines())
    assert (again.spec.image, again.spec.port, again.spec.bind) == (instance.spec.image, 8010, "127.0.0.1")
    assert estate(text)["rig"] == {"mode": "observe", "paths": {"models": "/srv/models", **_hf(name)}}


def _hf(name: str) -> dict[str, str]:
    return {} if name.startswith("llamacpp/") else {"hf_cache": "/srv/hf"}


def test_a_script_that_starts_the_engine_is_read() -> None:
    """Given a shell script around the engine, when it is imported, then its arguments are carried, other steps told."""
    script = (
        "pip install -q x && exec vllm serve /models/a --max-model-len 4096 \\\n  --served-model-name 'my model'; echo done"
    )
    text, told = compose(service('entrypoint: ["/bin/bash", "-c"]', f"command: [{script!r}]", 'volumes: ["./m:/models:ro"]'))
    assert entry(text)["served_names"] == ["my model"]
    assert parameters(text) == {"model_path": "a", "max_model_len": 4096}
    assert estate(text)["rig"] == {"mode": "observe", "paths": {"models": "/data/m"}}
    assert [line for line in told if "besides" in line] == [
        "5: what the container does besides: pip install -q x",
        "5: what the container does besides: echo done",
    ]


@pytest.mark.parametrize(
    ("command", "template"),
    [
        ("python3 -m vllm.entrypoints.openai.api_server --model /models/a", "vllm/generic"),
        ("vllm serve /models/a", "vllm/generic"),
        ("/app/llama-server -m /models/a/b.gguf", "llamacpp/generic"),
        ("python3 -m sglang.launch_server --model-path /models/a", "sglang/generic"),
    ],
)
def test_the_engine_is_known_by_its_program(command: str, template: str) -> None:
    """Given an image of any name, when its command starts an engine, then the instance has that engine's template."""
    text, _ = compose(f"services: {{one: {{image: 'mine:1', command: {command}, volumes: ['/m:/models']}}}}")
    assert (entry(text)["compose"], entry(text)["image"]) == (template, "mine:1")
    given = parameters(text)
    assert isinstance(given, dict)
    assert given["model_path"] == "a"


@pytest.mark.parametrize(
    ("image", "template"),
    [
        ("vllm/vllm-openai:latest", "vllm/generic"),
        ("lmsysorg/sglang:latest", "sglang/generic"),
        ("ghcr.io/ggml-org/llama.cpp:server", "llamacpp/generic"),
    ],
)
def test_the_engine_is_known_by_its_image(image: str, template: str) -> None:
    """Given arguments alone, when they are imported, then the image's name tells the engine."""
    text, _ = compose(f"services: {{one: {{image: '{image}', command: [--port, '9000'], ports: ['9001:9000']}}}}")
    assert (entry(text)["compose"], entry(text)["port"], entry(text)["bind"]) == (template, 9001, "0.0.0.0")


@pytest.mark.parametrize(
    ("volume", "model", "models", "path"),
    [
        ("/data/llm:/root/models", "/root/models/qwen/a", "/data/llm", "qwen/a"),
        ("/data/llm/qwen:/model:ro", "/model", "/data/llm", "qwen"),
        ("~/llm:/models", "/models/a", "/home/somebody/llm", "a"),
    ],
)
def test_the_folder_of_the_models_is_found(volume: str, model: str, models: str, path: str) -> None:
    """Given a mount that the model lies in, when it is imported, then the host's folder is the models' folder."""
    text, told = compose(service(f"command: [{model}, --max-model-len, '4096']", f'volumes: ["{volume}"]'))
    assert estate(text)["rig"] == {"mode": "observe", "paths": {"models": models}}
    given = parameters(text)
    assert isinstance(given, dict)
    assert given["model_path"] == path
    assert [line for line in told if "mount" in line] == []
    assert entry(text)["served_names"] == [model], "clients know it by this name"


def test_a_model_from_the_hub_stays_a_flag() -> None:
    """Given the name of a repository, when it is imported, then it is passed on, and the cache is the host's."""
    text, _ = compose(service("command: [Qwen/Qwen3-8B]", "volumes: [/srv/hf/hub:/root/.cache/huggingface/hub]"))
    assert parameters(text) == {"extra_args": ["--model", "Qwen/Qwen3-8B"]}
    assert estate(text)["rig"] == {"mode": "observe", "paths": {"hf_cache": "/srv/hf"}}
    assert entry(text)["served_names"] == ["Qwen/Qwen3-8B"]


def test_secrets_stay_out_of_the_estate() -> None:
    """Given keys and tokens in a file, when it is imported, then the estate has their names alone."""
    command = "command: [/models/a, --api-key, sk-1, --hf-token, hf-2, --seed, '1']"
    text, told = compose(service(command, "environment: [MY_API_KEY=sk-3, LEVEL=info]", "volumes: [/m:/models]"))
    assert entry(text)["env"] == {"MY_API_KEY": {"secret": "my-api-key"}, "LEVEL": "info"}
    assert parameters(text) == {"model_path": "a", "api_key": {"secret": "api-key"}, "extra_args": ["--seed", "1"]}
    assert not [value for value in ("sk-1", "hf-2", "sk-3") if value in text + "".join(told)]
    assert "4: the api key becomes the secret api-key" in told
    assert "4: --hf-token with its token" in told
    assert "5: MY_API_KEY becomes the secret my-api-key" in told


def test_variables_are_filled_in_as_compose_does() -> None:
    """Given defaults, values and gaps, when a file is imported, then each is filled in, and what nothing uses is told."""
    words = [
        "/models/${MODEL:-a}",
        "--max-model-len",
        "${LEN}",
        "--seed",
        "${SEED-7}",
        "--x",
        "$$y${GONE}",
        "--z",
        "${A:-${B:-b}}",
    ]
    command = f"command: {words}"
    text, told = compose(service(command, "volumes: ['${DIR:?}:/models']"), "LEN=8192\nDIR=/data\nTP=2\nOTHER=1\n")
    assert parameters(text) == {
        "model_path": "a",
        "max_model_len": 8192,
        "extra_args": ["--seed", "7", "--x", "$y", "--z", "b"],
    }
    assert "4: GONE has no value here" in told
    assert "3: TP is not used by this file" in told
    assert "4: OTHER is used by nothing here" in told


@pytest.mark.parametrize(
    ("lines", "gpus", "look"),
    [
        (["deploy: {resources: {reservations: {devices: [{device_ids: ['1', GPU-abcd1234]}]}}}"], [1, "GPU-abcd1234"], False),
        (["deploy: {resources: {reservations: {devices: [{count: 2}]}}}"], {"count": 2}, False),
        (["gpus: all", "command: [/m, -tp, '2']"], [0, 1], True),
        (["environment: {NVIDIA_VISIBLE_DEVICES: '2,3'}"], [2, 3], False),
        (["environment: [CUDA_VISIBLE_DEVICES=1]"], [1], False),
        (["runtime: nvidia"], [0], True),
        ([], [0], True),
    ],
)
def test_cards(lines: list[str], gpus: Plain, look: bool) -> None:
    """Given the ways in which Compose asks for cards, when they are imported, then the entry has them, or asks for a look."""
    text, _ = compose(service(*lines))
    assert entry(text)["gpus"] == gpus
    assert "env" not in entry(text), "the cards are chosen by gpus alone"
    above = text.split("    gpus:")[0].splitlines()[-1]
    assert above.startswith("    # LOOK") is look


@pytest.mark.parametrize(
    ("lines", "port", "bind"),
    [
        (["ports: ['127.0.0.1:8010:8000']"], 8010, None),
        (["ports: [{published: '8010', target: 8000, host_ip: 10.0.0.2}]"], 8010, "10.0.0.2"),
        (["ports: ['8010:8000/tcp']"], 8010, "0.0.0.0"),
        (["network_mode: host", "command: [/m, --host, 0.0.0.0, --port, '8123']"], 8123, "0.0.0.0"),
        (["network_mode: host", "command: [/m, --host, 127.0.0.1]"], 8000, None),
        ([], 8000, None),
    ],
)
def test_ports(lines: list[str], port: int, bind: str | None) -> None:
    """Given the ways in which Compose publishes a port, when they are imported, then the entry is reached as before."""
    text, _ = compose(service(*lines))
    assert (entry(text)["port"], entry(text).get("bind")) == (port, bind)


def test_what_an_entry_cannot_say_is_told_with_its_line() -> None:
    """Given keys that only a template can have, when they are imported, then each is told; Steward's own work is not."""
    lines = (
        "ports: ['8010:8000', '9000:9000', x]",
        "restart: always",
        "ulimits: {memlock: -1}",
        "shm_size: 64gb",
        "ipc: host",
        "cap_add: [SYS_NICE]",
        "volumes: [data:/data, /p.py:/usr/p.py, /c:/root/.triton]",
        "environment: {EMPTY: , CUDA_DEVICE_ORDER: PCI_BUS_ID}",
        "entrypoint: [/start.sh]",
    )
    _, told = compose(service(*lines) + "  web: {image: nginx}\n")
    assert [line for line in told if "leaves to the engine" not in line] == [
        "12: the entrypoint /start.sh is not known",
        "10: volume data:/data is no folder of the host",
        "10: the mount of /p.py at /usr/p.py",
        "4: port 9000 leads to 9000 in the container",
        "4: port x is not understood",
        "11: variable EMPTY has no value in the file",
        "6: ulimits of the service",
        "7: shm_size of the service",
        "9: cap_add of the service",
        "13: service web starts no engine that Steward knows",
    ]


def test_what_the_file_leaves_to_the_engine_is_told() -> None:
    """Given no context in the file, when it is imported, then the template's value is named for a look."""
    text, told = compose(
        service("command: [/models/a, --gpu-memory-utilization, '0.8', --max-num-seqs, '8']", "volumes: [/m:/models]")
    )
    assert "# LOOK: the file leaves to the engine what the template sets: max_model_len 8192." in text
    assert "2: the file leaves to the engine what the template sets: max_model_len 8192" in told


def test_two_engines_in_one_file_are_two_instances() -> None:
    """Given two services with folders that differ, when they are imported, then both are there, and the folder is told."""
    one = "image: 'vllm/vllm-openai:v0.27.1', command: [/models/x]"
    text, told = compose(f"services: {{Chat: {{{one}, volumes: [/a:/models]}}, chat: {{{one}, volumes: [/b:/models]}}}}")
    listed = estate(text)["estate"]
    assert isinstance(listed, list)
    assert [item["name"] for item in listed if isinstance(item, dict)] == ["chat", "chat-2"]
    assert "1: rig.paths.models is /a for all instances, and this one has /b" in told


def test_a_value_that_no_parameter_takes_is_told() -> None:
    """Given a figure out of bounds, when it is imported, then it is told and left out."""
    text, told = compose(service("command: [/models/a, --max-model-len, '10', --max-num-seqs, '8']", "volumes: [/m:/models]"))
    assert parameters(text) == {"model_path": "a", "max_num_seqs": 8}
    assert "4: max_model_len 10 cannot be set on vllm/generic" in told
