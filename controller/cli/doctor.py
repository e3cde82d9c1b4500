"""`steward doctor`: what is wrong, or will be, with this machine: Docker, cards, disk, memory, limits, clock, ports."""

from __future__ import annotations

import argparse

from controller.cli.output import print_text
from controller.errors import StewardError
from controller.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def run(options: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - every verb has this shape
    """Print every finding; 1 when one fails."""
    from controller.adapters.doctor import Health, WantedPort, doctor_text, run_doctor
    from controller.app.files import FileResolver, read_resolved
    from controller.app.world import docker_engine, real_parts

    try:
        resolved = read_resolved(settings, FileResolver(settings), {})
        ports = tuple(WantedPort(i.name, i.spec.port, i.spec.bind) for i in resolved.instances)
    except StewardError:
        ports = ()  # a broken estate is validate's business; the machine is looked at all the same
    engine = docker_engine(settings)
    world = real_parts(settings, engine).world
    findings = run_doctor(engine, engine, world.gpus, world.host, settings, ports)
    print_text(doctor_text(findings))
    return int(any(finding.status is Health.FAIL for finding in findings))
