"""Fixtures of the tests that run a whole Steward on a real Docker engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from tests.conftest import require
from tests.docker.harness import Steward, steward_on
from tests.docker_fixtures import SIMULATED_IMAGE


@pytest.fixture(scope="session")
def docker_client(docker_host: str) -> Iterator[docker.DockerClient]:
    """The hand of somebody who is not Steward."""
    client = docker.DockerClient(docker_host, timeout=60)
    yield client
    client.close()


@pytest.fixture(scope="session")
def simulated_image(docker_client: docker.DockerClient) -> str:
    """The image of the simulated engine."""
    there = bool(docker_client.images.list(SIMULATED_IMAGE))
    require("docker", there, f"{SIMULATED_IMAGE} is missing (make images)")
    return SIMULATED_IMAGE


@pytest.fixture
def steward(docker_client: docker.DockerClient, simulated_image: str, tmp_path: Path) -> Iterator[Steward]:
    """A Steward with nothing to do yet: write an estate, then start it or use its command line."""
    with steward_on(docker_client, tmp_path) as ours:
        yield ours
