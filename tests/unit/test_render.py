"""The Compose document of an instance."""

from __future__ import annotations

from typing import Any

import yaml

from controller.resolve import Surroundings
from controller.resolve.render import render
from tests.unit.resolving import CATALOGUE, NO_CARDS_READ, TWO_CARDS, resolved

VLLM = (
    "name: chat, compose: vllm/any, gpus: [0, 1], port: 8010, networks: [ui],"
    " set: {model_path: qwen, tensor_parallel_size: 2, api_key: {secret: 9-key}}, env: {TOKEN: {secret: hf}, PRICE: 5$}"
)


def service_of(entry: str, around: Surroundings | None = None, catalogue: dict[str, str] | None = None) -> dict[str, Any]:
    """The rendered service of an entry."""
    return dict(document_of(entry, around, catalogue)["services"]["engine"])


def document_of(entry: str, around: Surroundings | None = None, catalogue: dict[str, str] | None = None) -> dict[str, Any]:
    """The rendered document of an entry."""
    found = resolved(f"estate: [{{{entry}}}]", around=around, catalogue=catalogue)
    return dict(yaml.safe_load(render(found.instances[0], found.rig)))


def test_the_document_is_the_container() -> None:
    """Given an instance, when it is rendered, then image, command, mounts, port, cards and policy are those of its create."""
    service = service_of(VLLM)
    assert service["image"] == "vllm/vllm-openai:v0.20.0"
    assert service["command"][:4] == ["--host", "0.0.0.0", "--port", "8000"]
    assert service["ports"] == [{"target": 8000, "published": "8010", "host_ip": "127.0.0.1", "protocol": "tcp"}]
    assert service["volumes"] == [
        {"type": "bind", "source": "/srv/models", "target": "/models", "read_only": True},
        {"type": "bind", "source": "/srv/engine-cache/vllm-vllm-openai-v0.20.0/v", "target": "/root/.cache/steward"},
    ]
    assert service["deploy"]["resources"]["reservations"]["devices"] == [
        {"driver": "nvidia", "capabilities": ["gpu"], "device_ids": ["GPU-0000", "GPU-0001"]}
    ]
    assert (service["init"], service["restart"], service["shm_size"]) == (True, "no", 2**34)
    assert "labels" not in service, "what a person starts from it would count as ours"


def test_secrets_are_placeholders_and_dollars_are_kept() -> None:
    """Given secrets and a dollar, when it is rendered, then Compose asks for the one and passes the other on."""
    service = service_of(VLLM)
    assert service["command"][service["command"].index("--api-key") + 1] == "${_9_key}"
    assert service["environment"] == {"CACHE": "/cache/chat", "LEVEL": "2", "PRICE": "5$$", "TOKEN": "${hf}"}


def test_networks_are_joined_beside_the_default_one() -> None:
    """Given an extra network, when it is rendered, then it is external and the engine keeps its own."""
    document = document_of(VLLM)
    assert document["networks"] == {"default": {}, "ui": {"external": True}}
    assert document["services"]["engine"]["networks"] == ["default", "ui"]
    assert "networks" not in document_of(VLLM.replace("networks: [ui],", ""))


def test_nothing_is_there_that_was_not_asked_for() -> None:
    """Given a plain instance without cards, when it is rendered, then no empty key stands in the document."""
    service = service_of("name: a, compose: llama/any, gpus: [], port: 8010, set: {model_file: a.gguf}")
    assert sorted(service) == ["command", "image", "init", "ports", "restart"]


def test_unread_cards_are_shown_as_written() -> None:
    """Given cards that cannot be read, when it is rendered, then the file's own words stand for them."""
    around = Surroundings(NO_CARDS_READ)
    listed = "name: a, compose: llama/any, gpus: [1], port: 8010, set: {model_file: a.gguf}"
    assert service_of(listed, around)["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"] == ["1"]
    counted = listed.replace("[1]", "{count: 2}")
    assert service_of(counted, around)["deploy"]["resources"]["reservations"]["devices"][0]["count"] == 2


def test_every_key_of_a_service_is_rendered() -> None:
    """Given a template with every key, when it is rendered, then each comes out as Compose writes it."""
    template = """
x-steward: {engine: llama, parameters: {model_file: {}}}
services:
  engine:
    entrypoint: [/bin/e, $$x]
    ipc: host
    user: "1000"
    ulimits: {memlock: -1}
    cap_add: [SYS_NICE]
    cap_drop: [NET_RAW]
    devices: [/dev/fuse]
    tmpfs: [/tmp]
    working_dir: /w
    extra_hosts: ["a:127.0.0.1"]
    security_opt: [no-new-privileges]
    read_only: true
    mem_limit: 8gb
    cpus: 2
"""
    entry = "name: a, compose: llama/any, gpus: [], port: 8010, set: {model_file: a.gguf}"
    service = service_of(entry, catalogue={**CATALOGUE, "composes/llama/any": template})
    assert {key: service[key] for key in ("entrypoint", "ipc", "user", "ulimits", "mem_limit", "cpus", "read_only")} == {
        "entrypoint": ["/bin/e", "$$x"],
        "ipc": "host",
        "user": "1000",
        "ulimits": {"memlock": {"soft": -1, "hard": -1}},
        "mem_limit": 8 * 2**30,
        "cpus": 2.0,
        "read_only": True,
    }
    assert {key: service[key] for key in ("cap_add", "cap_drop", "devices", "tmpfs", "extra_hosts", "security_opt")} == {
        "cap_add": ["SYS_NICE"],
        "cap_drop": ["NET_RAW"],
        "devices": ["/dev/fuse"],
        "tmpfs": ["/tmp"],
        "extra_hosts": ["a:127.0.0.1"],
        "security_opt": ["no-new-privileges"],
    }


def test_the_text_is_stable() -> None:
    """Given one instance resolved twice, when it is rendered, then the text is the same to the byte."""
    texts = {
        render(found.instances[0], found.rig)
        for found in (resolved(f"estate: [{{{VLLM}}}]", around=Surroundings(TWO_CARDS)) for _ in range(2))
    }
    assert len(texts) == 1
