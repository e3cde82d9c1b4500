"""The dialects of the simulated engine and of generic tenants, the registry, and the failures that any container can have."""

from __future__ import annotations

import pytest

from controller.dialects.dialect import Launch
from controller.dialects.exposition import samples
from controller.dialects.registry import DIALECTS, dialect
from controller.model.fields import SecretRef
from controller.model.observed import EngineMetrics
from controller.model.parameters import parameters_of
from controller.model.profile import DialectName
from controller.model.track import FaultClass
from controller.simulation.engine.config import configure
from controller.simulation.engine.counts import Counts
from controller.simulation.engine.figures import Load, figures
from controller.simulation.engine.metric_tables import families
from controller.simulation.engine.metrics import page
from tests.unit.argv_text import argv_text

GENERIC = dialect(DialectName.GENERIC)
SIMULATED = dialect(DialectName.SIMULATED)
SIMULATED_LAUNCH = Launch(
    {"max_model_len": 32768, "max_num_seqs": 4, "api_key": SecretRef(secret="KEY"), "extra_args": ("--sim-load-s", "5")},
    ("code", "coder"),
    8000,
    "steward-test/simulated:1",
    ("--sim-tps", "50"),
)


def test_golden_argv_of_the_simulated_engine() -> None:
    """Given every parameter of it, when the argv is built, then it is this text, scripted behaviour last."""
    assert (
        argv_text(SIMULATED.argv(SIMULATED_LAUNCH))
        == """\
--dialect simulated
--host 0.0.0.0
--port 8000
--served-model-name code coder
--max-model-len 32768
--max-num-seqs 4
--api-key <secret KEY>
--sim-tps 50
--sim-load-s 5
"""
    )


def test_the_simulated_engine_takes_that_argv() -> None:
    """Given the argv of the dialect, when the simulated engine reads it, then it becomes what the dialect meant."""
    words = [word if isinstance(word, str) else "key" for word in SIMULATED.argv(SIMULATED_LAUNCH)]
    config = configure(words, {})
    assert (config.dialect, config.names, config.port) == ("simulated", ("code", "coder"), 8000)
    assert (config.context, config.slots, config.api_key) == (32768, 4, "key")
    assert (config.script.load_s, config.script.tps) == (5.0, 50.0)


@pytest.mark.parametrize("name", [DialectName.SIMULATED, DialectName.VLLM, DialectName.LLAMACPP])
def test_metrics_of_the_simulated_engine_are_understood(name: DialectName) -> None:
    """Given a page of the simulated engine in a dialect's manner, when it is mapped, then the basic figures are there."""
    counts = Counts()
    counts.prefill(10, 0.1, 0.1)
    counts.decode(30, 0.01, 30, None)
    text = page(families(name.value, None, drafter=False), figures(counts, Load(2, 1, 100, 1000), None), "chat")
    found = dialect(name).metrics(samples(text))
    assert (found.running, found.waiting, found.steps) == (2.0, 1.0, 31.0)
    assert (found.generation_tokens, found.prompt_tokens) == (30.0, 10.0)


def test_phases_of_the_simulated_engine() -> None:
    """Given its log line by line, when the phase is asked for, then it goes from loading to serving."""
    lines = ("loading model: 0 %", "loading model: 100 %", "model loaded", "listening on http://0.0.0.0:8000")
    assert [SIMULATED.phase(lines[:count]) for count in range(5)] == ["", *["loading model"] * 2, "model loaded", "serving"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB", "GpuOutOfMemory"),
        ("main: exiting due to model loading error", "ModelLoadFailed"),
        ("error: invalid argument: --nope", "UnknownArgument"),
        ("[Errno 98] Address already in use: could not bind 0.0.0.0:8000", "PortTaken"),
    ],
)
def test_a_scripted_failure_is_diagnosed_whatever_engine_it_imitates(line: str, reason: str) -> None:
    """Given a scripted last line in any engine's words, when it is diagnosed, then the reason is the one of that engine."""
    found = SIMULATED.diagnose(("loading model: 0 %", line))
    assert found is not None
    assert found.reason == reason


def test_a_generic_tenant_gets_its_own_command_and_nothing_else() -> None:
    """Given a template's command and extra_args, when the argv is built, then it is these alone."""
    launch = Launch({"extra_args": ("--b", "c"), "container_port": 8188}, (), 8188, "ui:1", ("--a",))
    assert GENERIC.argv(launch) == ("--a", "--b", "c")
    assert GENERIC.argv(Launch({}, (), 8188, "ui:1")) == ()
    assert GENERIC.missing(launch) == ()


def test_nothing_is_asked_of_a_generic_tenant() -> None:
    """Given a generic tenant, when its endpoints, metrics and phases are looked up, then there are none."""
    assert {getattr(GENERIC.endpoints, field) for field in ("health", "models", "completion", "metrics")} == {None}
    assert GENERIC.metrics({"a": 1.0}) == EngineMetrics()
    assert GENERIC.phase(("loading",)) == ""


@pytest.mark.parametrize(
    ("line", "reason", "fault"),
    [
        ("exec /usr/bin/server: exec format error", "WrongArchitecture", FaultClass.DETERMINISTIC),
        ("exec /start.sh: permission denied", "PermissionDenied", FaultClass.DETERMINISTIC),
        ("main.py: error: unrecognized arguments: --foo --bar", "UnknownArgument", FaultClass.DETERMINISTIC),
        ("main.py: error: the following arguments are required: --model", "MissingArgument", FaultClass.DETERMINISTIC),
        ("main.py: error: argument --port: invalid int value: 'x'", "InvalidArgument", FaultClass.DETERMINISTIC),
        ("error: invalid argument: --foo", "UnknownArgument", FaultClass.DETERMINISTIC),
        ("OSError: [Errno 28] No space left on device: '/models/x'", "DiskFull", FaultClass.ENVIRONMENT),
        ("OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'", "SharedMemoryTooSmall", FaultClass.DETERMINISTIC),
        ("OSError: [Errno 98] Address already in use", "PortTaken", FaultClass.ENVIRONMENT),
        ("Failed to initialize NVML: Unknown Error", "GpuLost", FaultClass.ENVIRONMENT),
        ("RuntimeError: No CUDA GPUs are available", "GpuNotVisible", FaultClass.ENVIRONMENT),
        ("CUDA error: no kernel image is available for execution on the device", "CardNotSupported", FaultClass.DETERMINISTIC),
        ("The NVIDIA driver on your system is too old (found version 12000)", "DriverTooOld", FaultClass.DETERMINISTIC),
        ("OSError: We couldn't connect to 'https://hub' to load the files", "HubUnreachable", FaultClass.ENVIRONMENT),
        ("./start.sh: line 3:    12 Killed                  ./server", "HostOutOfMemory", FaultClass.DETERMINISTIC),
        ("Killed", "HostOutOfMemory", FaultClass.DETERMINISTIC),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "HostOutOfMemory", FaultClass.DETERMINISTIC),
    ],
)
def test_failures_that_any_container_can_have(line: str, reason: str, fault: FaultClass) -> None:
    """Given the last words of any program, when they are diagnosed, then every dialect names the same reason and fault."""
    for spoken in DIALECTS.values():
        found = spoken.diagnose(("2026-01-02T03:04:05 starting", line, "", "  "))
        assert found is not None, spoken.name
        assert (found.reason, found.fault) == (reason, fault), spoken.name


def test_the_value_of_an_unknown_argument_is_not_repeated() -> None:
    """Given a flag with a value that may be a key, when it is diagnosed, then only the flag is named."""
    found = GENERIC.diagnose(("error: unrecognized arguments: --token=hunter2 hunter2",))
    assert found is not None
    assert "--token" in found.message
    assert "hunter2" not in found.message


def test_a_very_long_line_is_cut() -> None:
    """Given an exception of many thousand characters, when it is diagnosed, then the message stays short."""
    found = GENERIC.diagnose(("ValueError: " + "x" * 50_000,))
    assert found is not None
    assert len(found.message) <= 300


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_what_the_table_says(name: DialectName) -> None:
    """Given a dialect, when its parameters are compared with the table, then they are the same."""
    assert DIALECTS[name].name is name
    assert DIALECTS[name].supported == parameters_of(name)


def test_every_engine_type_has_a_dialect() -> None:
    """Given the engine types that profiles may name, when their dialects are asked for, then each has one."""
    assert set(DIALECTS) == set(DialectName)
