"""Every template that Steward ships, rendered, is a document that Compose itself accepts and reads as the same container."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from controller.model.document import Document
from controller.model.fields import SecretRef
from controller.model.payload import STORE
from controller.model.resolved import ContainerSpec, Mount, Resolved, ResolvedInstance, ResolvedRig, Secretive
from controller.model.rig import RigFacts
from controller.model.snapshot import SourceFile, snapshot_of
from controller.resolve import Surroundings, resolve
from controller.resolve.render import render
from controller.settings import Bounds
from controller.sources.rig_facts import rig_facts
from controller.sources.search_path import catalogue_for
from controller.sources.yaml_reader import read_document
from tests.conftest import require
from tests.unit.templates import TEMPLATES, alone

pytestmark = pytest.mark.compose

ROOT: Final = Path(__file__).parents[2]
RIG: Final = "2x:rtx-3090"
TIMEOUT_S: Final = 60
SECRETS: Final = {"my-key": "k$1", "hf": "t"}
"""Values for the placeholders that a reader of the document fills in; `my-key` is `my_key` to Compose."""
CACHE: Final = "${STEWARD_ENGINE_CACHE}"

PARAMETERS: Final = {
    "vllm/generic": (
        "{model_path: qwen/a b, tensor_parallel_size: 2, max_model_len: 32768, gpu_memory_utilization: 0.9,"
        " kv_cache_dtype: fp8_e5m2, spec_method: ngram, spec_tokens: 3, enforce_eager: true, tool_call_parser: hermes,"
        " api_key: {secret: my-key},"
        " extra_args: [--rope, '{\"factor\": 2.0}', 'a$b ${HOME} $$c']}"
    ),
    "llamacpp/generic": (
        "{model_path: m, model_file: 'a b.gguf', mmproj_file: p.gguf, max_num_seqs: 4, kv_cache_dtype: q8_0,"
        " tensor_split: [3, 1], flash_attention: 'on', chat_template: t.jinja, api_key: {secret: my-key},"
        " extra_args: ['a$b ${HOME} $$c', '#1', 'no']}"
    ),
    "llamacpp/split": "{model_path: m, model_file: 'a b.gguf', tensor_split: [24, 12], extra_args: ['a$b ${HOME} $$c']}",
    "sglang/generic": (
        "{model_path: qwen/a b, tensor_parallel_size: 2, kv_cache_dtype: bf16, spec_method: mtp, spec_tokens: 3,"
        " enable_prefix_caching: false, api_key: {secret: my-key}, extra_args: ['a$b ${HOME} $$c']}"
    ),
    "generic/http": "{container_port: 8188, ready_path: /up, extra_args: ['a$b ${HOME} $$c', '~']}",
    "simulated/default": "{max_model_len: 4096, api_key: {secret: my-key}, extra_args: [--sim-load-s, '2', 'a$b ${HOME} $$c']}",
}
"""What a user would set, for templates of no certain model; each has dollars that Compose must not take for its own."""
EVERY_KEY: Final = """
x-steward: {engine: llamacpp-generic, parameters: {model_file: {}}}
services:
  engine:
    entrypoint: [/bin/e, $$x]
    command: [--seed, "1"]
    environment: {LEVEL: 2, PRICE: 5$$}
    volumes: ["${STEWARD_MODELS}/sub:/models:ro", "${STEWARD_ENGINE_CACHE}/v:/root/.cache/steward"]
    shm_size: 16gb
    ipc: host
    user: "1000:100"
    ulimits: {memlock: -1, nofile: {soft: 1024, hard: 2048}}
    cap_add: [SYS_NICE]
    cap_drop: [NET_RAW]
    devices: ["/dev/fuse:/dev/fuse:rwm"]
    tmpfs: [/tmp]
    working_dir: /w
    extra_hosts: ["a:127.0.0.1"]
    security_opt: ["no-new-privileges:true"]
    read_only: true
    mem_limit: 8gb
    cpus: 2.5
"""


@dataclass(frozen=True, slots=True)
class Compose:
    """The Compose program, asked in a folder of its own; it never reaches an engine."""

    program: str
    folder: Path
    values: dict[str, str] = field(default_factory=lambda: {name.replace("-", "_"): text for name, text in SECRETS.items()})

    def config(self, text: str) -> subprocess.CompletedProcess[str]:
        """What Compose says to a document."""
        file = self.folder / "compose.yml"
        file.write_text(text)
        command = [self.program, "-f", str(file), "config", "--format", "json"]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **self.values}
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)

    def read(self, text: str) -> Any:
        """What Compose makes of a document that it must accept without a warning."""
        ended = self.config(text)
        assert (ended.returncode, ended.stderr) == (0, "")
        return without_escapes(json.loads(ended.stdout))


@pytest.fixture
def compose(tmp_path: Path) -> Compose:
    """The Compose program beside this Python, or the one in the path."""
    beside = Path(sys.executable).with_name("docker-compose")
    found = str(beside) if beside.is_file() else shutil.which("docker-compose")
    require("compose", found is not None, "no docker-compose beside Python or in the path")
    folder = tmp_path / "by-hand"
    folder.mkdir()
    return Compose(str(found), folder)


def without_escapes(value: Any) -> Any:
    """Compose's output with single dollars: it prints two, so that the output is a document again."""
    match value:
        case dict():
            return {key: without_escapes(item) for key, item in value.items()}
        case list():
            return [without_escapes(item) for item in value]
        case str():
            return value.replace("$$", "$")
    return value


def estate_text(template: str, gpus: str = "[0, 1]", more: str = "") -> str:
    """An estate with one instance of a template and an environment that is hard to quote."""
    env = "{TOKEN: {secret: hf}, PRICE: '5$ ${HOME} $$ # x', EMPTY: '', 'YES': 'yes', LINES: \"a\\n b: c\"}"
    given = PARAMETERS.get(template, "{model_file: a.gguf}")
    head = "rig: {name: rig2, paths: {models: '/srv/mo$dels', engine_cache: /srv/cache}}\n"
    entry = f"name: one, compose: {template}, gpus: {gpus}, port: 8010, image: 'registry.lan:5000/engine:1', set: {given}"
    return f"{head}estate: [{{{entry}, env: {env}{more}}}]\n"


def resolved(text: str, *templates: SourceFile) -> tuple[ResolvedInstance, ResolvedRig]:
    """The one instance of an estate on two cards."""
    snapshot, bounds = snapshot_of(templates), Bounds()
    catalogue = catalogue_for(snapshot, None, bounds)
    estate, facts = read_document("estate.yml", text.encode(), bounds), rig_facts(RIG, catalogue, bounds)
    assert isinstance(estate, Document), estate
    assert isinstance(facts, RigFacts), facts
    found = resolve([estate], catalogue, Surroundings(facts), "rev")
    assert isinstance(found, Resolved), found
    return found.instances[0], found.rig


def meant(spec: ContainerSpec) -> dict[str, Any]:
    """The container of a spec, in the terms in which `told` gives what Compose read."""
    return {
        "image": spec.image,
        "entrypoint": None if spec.entrypoint is None else list(spec.entrypoint),
        "argv": [revealed(word) for word in spec.argv],
        "env": {name: revealed(value) for name, value in spec.env},
        "ports": [(spec.bind, str(spec.port), spec.container_port, "tcp")],
        "volumes": [(source_in_document(mount, spec), mount.target, mount.read_only) for mount in spec.mounts],
        "device_ids": list(spec.gpus),
        "shm": spec.shm_bytes or 0,
        "memory": spec.mem_limit_bytes or 0,
        "cpus": spec.cpus,
        "ulimits": {limit.name: (limit.soft, limit.hard) for limit in spec.ulimits},
        "ipc": spec.ipc,
        "user": spec.user,
        "working_dir": spec.working_dir,
        "read_only": spec.read_only,
        "lists": [list(found) for found in (spec.cap_add, spec.cap_drop, spec.tmpfs, spec.security_opt)],
        "hosts": [text.replace(":", "=", 1) for text in spec.extra_hosts],
        "devices": [tuple(text.split(":")) for text in spec.devices],
    }


def told(service: Any) -> dict[str, Any]:
    """The container of a service as Compose read it."""
    reserved = service.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", [])
    limits = service.get("ulimits", {})
    return {
        "image": service["image"],
        "entrypoint": service.get("entrypoint"),
        "argv": service.get("command") or [],
        "env": service.get("environment", {}),
        "ports": [(port["host_ip"], port["published"], port["target"], port["protocol"]) for port in service["ports"]],
        "volumes": [(v["source"], v["target"], v.get("read_only", False)) for v in service.get("volumes", [])],
        "device_ids": [uuid for device in reserved for uuid in device["device_ids"]],
        "shm": int(service.get("shm_size", 0)),
        "memory": int(service.get("mem_limit", 0)),
        "cpus": service.get("cpus"),
        "ulimits": {name: (v, v) if isinstance(v, int) else (v["soft"], v["hard"]) for name, v in limits.items()},
        "ipc": service.get("ipc"),
        "user": service.get("user"),
        "working_dir": service.get("working_dir"),
        "read_only": service.get("read_only", False),
        "lists": [service.get(key, []) for key in ("cap_add", "cap_drop", "tmpfs", "security_opt")],
        "hosts": service.get("extra_hosts", []),
        "devices": [(device["source"], device["target"], device["permissions"]) for device in service.get("devices", [])],
    }


def revealed(value: Secretive) -> str:
    """Text, or what the reader has filled in for a secret."""
    return SECRETS[value.secret] if isinstance(value, SecretRef) else value


def source_in_document(mount: Mount, spec: ContainerSpec) -> str:
    """The engine cache is in a folder named after the image, because the image's id is known at create only."""
    cache = f"/srv/cache/{spec.image.replace('/', '-').replace(':', '-')}"
    return mount.source.replace(CACHE, cache).replace(STORE, "/srv/overlays")


@pytest.mark.parametrize("template", PARAMETERS)
def test_compose_reads_a_template_with_much_set_as_the_same_container(compose: Compose, template: str) -> None:
    """Given a shipped template with much set, when it is rendered, then Compose reads the container that Steward would make."""
    instance, rig = resolved(estate_text(template))
    assert len(instance.spec.gpus) == 2
    service = compose.read(render(instance, rig, "/srv/overlays"))["services"]["engine"]
    assert told(service) == meant(instance.spec)
    assert (service["init"], service["restart"]) == (True, "no")
    assert "a$b ${HOME} $$c" in service["command"]


@pytest.mark.parametrize("template", TEMPLATES)
def test_compose_reads_every_template_as_the_same_container(compose: Compose, template: str) -> None:
    """Given a shipped template on the cards that it needs, when it is rendered, then Compose reads that very container."""
    found = alone(template)
    assert isinstance(found, Resolved), found
    service = compose.read(render(found.instances[0], found.rig, "/srv/overlays"))["services"]["engine"]
    assert told(service) == meant(found.instances[0].spec)


@pytest.mark.parametrize("gpus", ["[]", "[1]", "{count: 1}", "{count: 2, same: true}"])
def test_compose_reserves_the_cards_and_no_others(compose: Compose, gpus: str) -> None:
    """Given no card, one, or a number of them, when it is rendered, then Compose reserves exactly those by UUID."""
    instance, rig = resolved(estate_text("llamacpp/generic", gpus))
    service = compose.read(render(instance, rig, "/srv/overlays"))["services"]["engine"]
    assert told(service)["device_ids"] == list(instance.spec.gpus)
    devices = service.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", [])
    assert [(device["driver"], device["capabilities"]) for device in devices] == [("nvidia", ["gpu"])] * bool(devices)


def test_compose_reads_every_key_of_a_template(compose: Compose) -> None:
    """Given a template with every key that Steward takes, when it is rendered, then Compose reads each as it was meant."""
    template = SourceFile("composes/mine/every.yml", "composes/mine/every.yml", EVERY_KEY.encode())
    instance, rig = resolved(estate_text("mine/every"), template)
    assert told(compose.read(render(instance, rig, "/srv/overlays"))["services"]["engine"]) == meant(instance.spec)


def test_compose_joins_the_networks(compose: Compose) -> None:
    """Given an extra network and a public address, when it is rendered, then Compose joins the one and binds the other."""
    instance, rig = resolved(estate_text("generic/http", more=", networks: [ui], bind: 0.0.0.0"))
    document = compose.read(render(instance, rig, "/srv/overlays"))
    assert document["networks"]["ui"]["external"] is True
    assert sorted(document["services"]["engine"]["networks"]) == ["default", "ui"]
    assert document["services"]["engine"]["ports"][0]["host_ip"] == "0.0.0.0"


def test_compose_names_the_secrets_that_are_to_be_filled_in(compose: Compose) -> None:
    """Given a document with secrets, when nobody fills them in, then Compose says which ones are missing."""
    instance, rig = resolved(estate_text("vllm/generic"))
    compose.values.clear()
    ended = compose.config(render(instance, rig, "/srv/overlays"))
    assert ended.returncode == 0
    assert "my_key" in ended.stderr
    assert "hf" in ended.stderr


def test_the_command_prints_what_compose_accepts(compose: Compose, tmp_path: Path) -> None:
    """Given an estate folder with a template of its own, when `steward render` is run, then Compose accepts what it prints."""
    for name, text in (("desired/estate.yml", estate_text("mine/every")), ("composes/mine/every.yml", EVERY_KEY)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "controller.cli", "render", "one", "--rig", RIG, "--estate", str(tmp_path / "desired")]
    environment = {**os.environ, "STEWARD_STATE": str(tmp_path / "state")}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    service = compose.read(ended.stdout)["services"]["engine"]
    instance, _ = resolved(estate_text("mine/every"), SourceFile("composes/mine/every.yml", "x", EVERY_KEY.encode()))
    assert told(service) == meant(instance.spec)
