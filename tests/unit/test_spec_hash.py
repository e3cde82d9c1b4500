"""The spec hash: what moves it, what does not, and its value for a spec that never changes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from controller.model.fields import SecretRef
from controller.model.identity import SPEC_VERSION
from controller.model.resolved import ContainerSpec, Mount, Ulimit
from controller.resolve import Surroundings
from controller.resolve.spec_hash import secrets_of, spec_hash
from tests.unit.resolving import CATALOGUE, TWO_CARDS, one, resolved

FULL = ContainerSpec(
    image="vllm/vllm-openai:v0.20.0",
    argv=("--model", "/models/qwen", "--api-key", SecretRef(secret="key")),
    port=8010,
    container_port=8000,
    bind="127.0.0.1",
    entrypoint=("/bin/engine",),
    env=(("A", "1"), ("TOKEN", SecretRef(secret="hf"))),
    mounts=(Mount("/srv/models", "/models", read_only=True), Mount("${STEWARD_ENGINE_CACHE}", "/root/.cache/steward")),
    gpus=("GPU-0000", "GPU-0001"),
    networks=("ui",),
    shm_bytes=2**34,
    ipc="host",
    user="1000",
    ulimits=(Ulimit("memlock", -1, -1),),
    cap_add=("SYS_NICE",),
    cap_drop=("NET_RAW",),
    devices=("/dev/fuse",),
    tmpfs=("/tmp",),
    working_dir="/opt",
    extra_hosts=("a:127.0.0.1",),
    security_opt=("no-new-privileges",),
    read_only=True,
    mem_limit_bytes=2**33,
    cpus=2.5,
)
CHANGED: dict[str, Any] = {
    "image": "vllm/vllm-openai:v0.20.1",
    "argv": ("--model", "/models/qwen2"),
    "port": 8011,
    "container_port": 8001,
    "bind": "0.0.0.0",
    "entrypoint": None,
    "env": (("A", "2"),),
    "mounts": (),
    "gpus": ("GPU-0001", "GPU-0000"),
    "networks": (),
    "shm_bytes": None,
    "ipc": None,
    "user": None,
    "ulimits": (),
    "cap_add": (),
    "cap_drop": (),
    "devices": (),
    "tmpfs": (),
    "working_dir": None,
    "extra_hosts": (),
    "security_opt": (),
    "read_only": False,
    "mem_limit_bytes": None,
    "cpus": None,
}
ENTRY = "name: chat, compose: vllm/any, gpus: [0], port: 8010, set: {model_path: qwen}"


def test_the_hash_of_a_spec_is_the_same_for_ever() -> None:
    """Given a spec with every field, when it is hashed, then the value is the one that running containers carry.

    A failure here means that every engine of every user would be replaced: change SPEC_VERSION and migrate instead.
    """
    assert SPEC_VERSION == 1
    assert spec_hash(FULL) == "82197f8aeae138fd785af845b47479e4909e409e4e7337c4bfe4395084970601"
    assert (
        spec_hash(FULL, {"key": "d1", "hf": "d2"}.__getitem__)
        == "10cb758e12abd4298d7173c336efd62915408ce06cedd1aa0039c0bd0357097b"
    )


@pytest.mark.parametrize("field", [field.name for field in fields(ContainerSpec)])
def test_every_field_counts(field: str) -> None:
    """Given a spec, when any one field changes, then so does the hash."""
    assert spec_hash(replace(FULL, **{field: CHANGED[field]})) != spec_hash(FULL)


def test_a_secret_counts_by_its_value_in_one_hash_and_by_its_name_in_the_other() -> None:
    """Given another value of a secret, when it is hashed, then only the keyed hash differs, and no value is in any."""
    before, after = {"key": "d1", "hf": "d2"}, {"key": "d3", "hf": "d2"}
    assert spec_hash(FULL, before.__getitem__) != spec_hash(FULL, after.__getitem__)
    assert spec_hash(FULL, before.__getitem__) != spec_hash(FULL)
    assert secrets_of(FULL) == ("key", "hf")
    text = replace(FULL, argv=("--model", "/models/qwen", "--api-key", '{"secret": "key"}'))
    assert spec_hash(text) != spec_hash(FULL)


def test_the_instance_carries_both_hashes() -> None:
    """Given an instance with a secret, when it is resolved, then the hash is keyed and the key's fingerprint is noted."""
    entry = f"{ENTRY}, env: {{TOKEN: {{secret: hf}}}}"
    around = Surroundings(TWO_CARDS, secret_digest={"hf": "d1"}.get, secret_key_id="k1")
    keyed, other = one(entry, around), one(entry, replace(around, secret_digest={"hf": "d2"}.get))
    assert keyed.spec_hash != other.spec_hash
    assert keyed.spec_hash_plain == other.spec_hash_plain
    assert keyed.secret_key == "k1"
    without = one(ENTRY, around)
    assert (without.secret_key, without.spec_hash) == ("", without.spec_hash_plain)


def test_writing_the_same_thing_another_way_changes_nothing() -> None:
    """Given one instance in two spellings, files, orders and revisions, when it is resolved, then the hash is one."""
    plain = resolved(
        "rig: {name: lab}\n"
        f"estate: [{{{ENTRY.replace('model_path: qwen', 'model_path: qwen, max_num_seqs: 8, max_model_len: 4096')},"
        " env: {A: x, B: '2'}}]"
    ).instances[0]
    styled = resolved(
        "estate: []",
        """
# another file, another order, live keys
rig:
  name: "lab"
  boot: {parallel: 3}
defaults: {health: {interval: 9s}}
estate:
  - env:
      B: 2
      A: 'x'
    port: 0x1f4a
    set: {max_model_len: 4096, max_num_seqs: 8, model_path: "qwen"}
    gpus:
      - 0
    depends_on: []
    state: stopped
    share: true
    gates: {tps_min_ratio: 0.5}
    compose: vllm/any
    name: chat
""",
    ).instances[0]
    assert styled.spec_hash == plain.spec_hash
    assert styled.spec == plain.spec


def test_the_engine_cache_is_not_in_the_hash_and_the_models_are() -> None:
    """Given other host paths, when it is resolved, then the cache moves nothing and the models' folder does."""

    def hashed(paths: str) -> str:
        return resolved(f"rig: {{paths: {{{paths}}}}}\nestate: [{{{ENTRY}}}]").instances[0].spec_hash

    assert hashed("engine_cache: /fast/cache") == hashed("engine_cache: /srv/engine-cache")
    assert hashed("models: /fast/models") != hashed("models: /srv/models")


def test_a_neighbour_does_not_move_the_hash() -> None:
    """Given an estate, when another instance comes or the template gets a comment, then the first one's hash stays."""
    alone = one(ENTRY).spec_hash
    other = "name: b, compose: llama/any, gpus: [1], port: 8011, set: {model_file: a.gguf}"
    assert resolved(f"estate: [{{{other}}}, {{{ENTRY}}}]").instances[1].spec_hash == alone
    commented = {**CATALOGUE, "composes/vllm/any": "# a comment\n" + CATALOGUE["composes/vllm/any"]}
    assert one(ENTRY, catalogue=commented).spec_hash == alone
