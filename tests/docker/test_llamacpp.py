"""A real llama.cpp server, kept as the estate says: booted, measured, changed, drained, kept, and pruned."""

from __future__ import annotations

import json
import threading
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import docker
import pytest

from tests.conftest import require
from tests.docker.harness import Entry, Steward, free_port, until
from tests.engine.tiny_gguf import Shape, write_gguf, write_tiny_gguf

pytestmark = [pytest.mark.docker, pytest.mark.llamacpp]

IMAGE = "steward-test/llamacpp:1"
TINY, SLOW = "tiny.gguf", "slow.gguf"
"""The second model is large enough for a stream that lasts while an estate is edited."""
SMALL: Final[dict[str, Any]] = {"max_model_len": 16384}
LARGE: Final[dict[str, Any]] = {"max_model_len": 24576, "max_num_seqs": 2}
STREAM_S = 2.0
"""How long a stream lasts at least, so that it is seen running; later tokens take longer."""


@pytest.fixture(scope="module")
def models(docker_client: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that an estate names as `rig.paths.models`, with the models in it."""
    require("llamacpp", bool(docker_client.images.list(IMAGE)), f"{IMAGE} is missing (make images)")
    folder = tmp_path_factory.mktemp("models")
    write_tiny_gguf(folder / TINY)
    write_gguf(folder / SLOW, Shape(hidden=512, feed_forward=1024, layers=4, heads=16))
    return folder


@dataclass(slots=True)
class LlamaRig:
    """A Steward whose estate has one llama.cpp server, `chat`, on a port of its own."""

    steward: Steward
    paths: str
    port: int = field(default_factory=free_port)

    def write(self, model_file: str = TINY, **parameters: Any) -> None:
        """Save an estate whose server has these parameters."""
        # the server counts a request as done before its last tokens have reached the client: idle_for is the product's default
        lines = (f"image: {IMAGE}", "drain: {limit: 100s, idle_for: 3s}")
        entry = Entry("chat", self.port, compose="llamacpp/generic", more=lines, set={"model_file": model_file, **parameters})
        self.steward.write(entry, rig=self.paths)

    def remove(self) -> None:
        """Save an estate without the server, and with the word that its removal is meant."""
        self.steward.write(rig=self.paths, more="allow_prune: [chat]")

    def ask(self, path: str, key: str = "") -> Any:
        """A JSON answer of the server itself, through the public port."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def generated(self) -> float:
        """The tokens that the server has generated, as Steward last saw them."""
        metrics = self.steward.instance("chat")["metrics"] or {}
        return float(metrics.get("generation_tokens") or 0)

    def stalled(self) -> Any:
        """Apply what is written, which must fail; the condition that says why."""
        applied = self.steward.cli("apply", "--timeout", "60s")
        assert applied.returncode == 1, applied.stdout + applied.stderr
        told = json.loads(self.steward.cli("status", "--output", "json").stdout)["instances"][0]
        assert (told["state"], told["ready"]) == ("Stalled", False)
        return next(c for c in told["conditions"] if c["type"] == "Stalled")


@pytest.fixture
def rig(steward: Steward, models: Path, tmp_path: Path) -> LlamaRig:
    """A rig whose host folders are the test's own."""
    (tmp_path / "hf").mkdir()
    paths = f"paths: {{models: {models}, hf_cache: {tmp_path}/hf, engine_cache: {tmp_path}/cache}}"
    return LlamaRig(steward, f"boot: {{stagger: 0s}}\n  {paths}")


@dataclass(slots=True)
class Stream:
    """A streaming completion that a thread reads to its end, as a client does."""

    port: int
    tokens: int
    pieces: list[dict[str, Any]] = field(default_factory=list)
    last_line: str = ""
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Ask, and return once the first piece has come."""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        until(lambda: self.pieces, "the first piece of the stream")

    def end(self) -> None:
        """Wait until the server has said all, or has hung up."""
        assert self._thread is not None
        self._thread.join(100)
        assert not self._thread.is_alive()

    def _read(self) -> None:
        options = {"prompt": "hello", "max_tokens": self.tokens, "temperature": 0, "stream": True}
        body = json.dumps({"model": "chat", **options, "stream_options": {"include_usage": True}}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/completions", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            for line in filter(None, (raw.decode().strip() for raw in answer)):
                self.last_line = line
                if line.startswith("data: {"):
                    self.pieces.append(json.loads(line.removeprefix("data: ")))

    def finish(self) -> str:
        """Why the server says that it ended."""
        reasons = [choice["finish_reason"] for piece in self.pieces for choice in piece.get("choices", ())]
        return str(next((reason for reason in reversed(reasons) if reason), None))


def test_a_real_server_is_booted_and_its_tokens_are_counted(rig: LlamaRig) -> None:
    """Given a GGUF file, when the estate names it, then a completion comes through the port and status counts its tokens."""
    steward = rig.steward
    rig.write(**SMALL)
    steward.start()
    steward.ready("chat")
    steward.converged()
    answer = steward.complete(rig.port, "chat", tokens=400)
    assert answer["usage"]["completion_tokens"] == 400
    assert answer["choices"][0]["finish_reason"] == "length"
    until(lambda: rig.generated() >= 400, lambda: f"400 generated tokens in {steward.instance('chat')}")

    told = json.loads(steward.cli("status", "--output", "json").stdout)["instances"][0]
    assert (told["ready"], told["engine"], told["model"]) == (True, "llamacpp-generic", "chat")
    assert told["metrics"]["prompt_tokens"] > 0
    assert told["metrics"]["requests_running"] == 0
    # llama.cpp counts the seconds that it decoded: the rate is that of the engine, not that of the probes
    assert told["tps"] == pytest.approx(answer["timings"]["predicted_per_second"], rel=0.2)
    text = steward.cli("status", "-v").stdout
    row = next(line.split() for line in text.splitlines() if line.startswith("chat"))
    assert row[1] == "yes"
    assert float(row[6]) > 0
    assert f"tokens generated: {told['metrics']['generation_tokens']:.0f}" in text

    exposed = exposition(steward)
    labels = f'{{instance="chat",rig="{steward.rig}"}}'
    assert exposed[f"steward_instance_generation_tokens_total{labels}"] >= 400
    assert exposed[f"steward_instance_prompt_tokens_total{labels}"] > 0
    assert exposed[f"steward_instance_decode_tokens_per_second{labels}"] > 0
    assert exposed[f"steward_instance_ready{labels}"] == 1


def exposition(steward: Steward) -> dict[str, float]:
    """Steward's own metrics by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{steward.listen}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, value in samples}


def test_an_edit_lets_the_stream_end_and_taking_it_back_starts_the_kept_container(rig: LlamaRig) -> None:
    """Given a stream under way, when parameters change, then it ends whole, a new server has them, and the old is kept."""
    steward = rig.steward
    rig.write(SLOW, **SMALL)
    steward.start()
    steward.converged()
    first = steward.only("chat")
    assert contexts(rig) == [16384]
    stream = Stream(rig.port, stream_length(rig))
    stream.start()

    rig.write(SLOW, **LARGE)
    until(lambda: any("1 request(s) open" in str(step["waiting_for"]) for step in drains(steward)), "a drain that waits")
    assert steward.instance("chat")["state"] == "Draining"
    first.reload()
    assert first.status == "running"
    stream.end()
    assert (stream.finish(), stream.last_line) == ("length", "data: [DONE]")
    assert stream.pieces[-1]["usage"]["completion_tokens"] == stream.tokens

    steward.converged()
    assert contexts(rig) == [24576, 24576]
    assert rig.ask("/props")["total_slots"] == 2
    first.reload()
    assert (first.status, first.attrs["State"]["ExitCode"]) == ("exited", 0)
    stop = next(event for event in steward.events() if event["message"] == "stop")
    assert "max_model_len: 16384 -> 24576" in stop["cause"]

    rig.write(SLOW, **SMALL)
    steward.converged()
    assert steward.only("chat").id == first.id
    assert contexts(rig) == [16384]


def drains(steward: Steward) -> list[Any]:
    """The drains that are still in the plan."""
    return [step for step in steward.get("/api/v1/plan")["steps"] if step["action"] == "drain"]


def contexts(rig: LlamaRig) -> list[int]:
    """The context of each slot of the server."""
    return [slot["n_ctx"] for slot in rig.ask("/slots")]


def stream_length(rig: LlamaRig) -> int:
    """How many tokens this machine needs at least `STREAM_S` for, at the rate of a short answer."""
    rate = rig.steward.complete(rig.port, "chat", tokens=128)["timings"]["predicted_per_second"]
    return int(min(max(rate * STREAM_S, 100), 16000))


def test_a_removed_server_finishes_what_it_was_asked_and_is_pruned(rig: LlamaRig) -> None:
    """Given a server that leaves the estate, when it is asked once more before its stop, then it answers and is gone."""
    steward = rig.steward
    rig.write(SLOW, **SMALL)
    steward.start()
    steward.converged()
    tokens = stream_length(rig)
    rig.remove()
    until(lambda: drains(steward), "the drain")
    stream = Stream(rig.port, tokens)
    stream.start()
    stream.end()
    assert (stream.finish(), stream.last_line) == ("length", "data: [DONE]")
    steward.converged()
    assert steward.containers("chat") == []
    assert steward.status()["instances"] == []
    with pytest.raises(OSError, match="refused"):
        rig.ask("/health")


def test_a_model_file_that_is_not_there_is_told_in_llamacpps_words(rig: LlamaRig) -> None:
    """Given a model file that does not exist, when it is applied, then it is Stalled for that reason and stays stopped."""
    rig.write(model_file="absent.gguf")
    stalled = rig.stalled()
    assert stalled["reason"] == "ModelNotFound"
    assert "/models/absent.gguf" in stalled["message"]
    (left,) = rig.steward.containers("chat")
    assert left.status == "exited"
    assert "absent.gguf" in rig.steward.cli("logs", "chat").stdout


def test_a_flag_that_the_server_does_not_know_is_named(rig: LlamaRig) -> None:
    """Given an extra flag that this llama.cpp has not, when it is applied, then it is Stalled and the flag is named."""
    rig.write(extra_args=["--no-such-flag"])
    stalled = rig.stalled()
    assert stalled["reason"] == "UnknownArgument"
    assert "--no-such-flag" in stalled["message"]


def test_an_api_key_by_secret_is_used_by_the_server_and_by_every_probe(rig: LlamaRig) -> None:
    """Given an api key by secret, when the server boots, then it is ready, refuses strangers, and its tokens are counted."""
    steward, value = rig.steward, "s3cret-llama-4711"
    folder = steward.state / "secrets"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "KEY").write_text(value)
    (folder / "KEY").chmod(0o600)
    rig.write(api_key={"secret": "KEY"}, **SMALL)
    applied = steward.cli("apply", "--timeout", "60s")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    with pytest.raises(OSError, match="401"):
        steward.complete(rig.port, "chat")
    assert [slot["n_ctx"] for slot in rig.ask("/slots", key=value)] == [16384]
    steward.start()
    steward.ready("chat")
    until(lambda: rig.generated() > 0, "the tokens of the first completion")
    shown = steward.cli("status", "-v").stdout + steward.cli("render", "chat").stdout + steward.log()
    assert value not in shown
    assert "${KEY}" in shown
