"""Fixtures of the scenarios: the Steward on a real Docker engine that tests/docker uses, too."""

from __future__ import annotations

from tests.docker.conftest import docker_client, simulated_image, steward

__all__ = ["docker_client", "simulated_image", "steward"]
