"""The doctor on a real Docker engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.adapters.docker.docker_info import DockerInfo
from controller.adapters.docker.engine import DockerEngine
from controller.adapters.docker.wire import Wire
from controller.adapters.doctor import Health, run_doctor
from controller.adapters.linux_host import LinuxHost
from controller.adapters.nvml_gpus import NvmlGpus
from controller.errors import EngineUnreachable
from controller.settings import Bounds, Settings

pytestmark = pytest.mark.docker


def test_engine_tells_what_the_doctor_asks(docker_host: str) -> None:
    """Given a real engine, then its versions, its folder and its runtimes are told."""
    facts = DockerInfo(Wire(docker_host, Bounds())).info()

    assert facts.version
    assert float(facts.api) >= 1.40
    assert Path(facts.root_dir).is_absolute()
    assert facts.cgroup_version in {"1", "2"}
    assert facts.storage_driver
    assert "runc" in facts.runtimes
    assert facts.ncpu > 0
    assert facts.memory > 2**28


def test_doctor_finds_a_real_engine_fit(docker_host: str, tmp_path: Path) -> None:
    """Given a real engine and this machine, then the examination ends with the engine in order and its disk read."""
    engine = DockerEngine(docker_host, Bounds())
    settings = Settings(estate=tmp_path, state=tmp_path / "state", lock_dir=tmp_path / "locks", docker_host=docker_host)

    findings = run_doctor(engine, DockerInfo(Wire(docker_host, Bounds())), NvmlGpus(10.0), LinuxHost(), settings)

    engine.close()
    by_name = {entry.name: entry for entry in findings}
    assert by_name["docker"].status is Health.OK
    assert "free" in by_name["docker disk"].detail
    assert by_name["state folder"].status is Health.OK


def test_engine_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    """Given an address where nobody listens, then the question fails as unreachable, in the words of the wire."""
    with pytest.raises(EngineUnreachable, match="does not answer"):
        DockerInfo(Wire(f"unix://{tmp_path}/none.sock", Bounds())).info()
