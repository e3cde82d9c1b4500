"""The doctor looks for what is wrong with a machine before it costs anybody an evening; it changes nothing.

`gather` reads everything once; `engine_checks`, `card_checks` and `host_checks` judge it as data; `text` prints it.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.adapters.doctor.card_checks import card_findings
from controller.adapters.doctor.engine_checks import engine_findings
from controller.adapters.doctor.facts import MachineFacts, WantedPort
from controller.adapters.doctor.finding import Finding, Health
from controller.adapters.doctor.gather import gather
from controller.adapters.doctor.host_checks import host_findings
from controller.adapters.doctor.text import doctor_text
from controller.ports import Containers, EngineInfo, GpuProbe, Host
from controller.settings import Settings

__all__ = ["Finding", "Health", "WantedPort", "doctor_text", "judge", "run_doctor"]


def run_doctor(
    containers: Containers,
    engine: EngineInfo,
    gpus: GpuProbe,
    host: Host,
    settings: Settings,
    ports: Sequence[WantedPort] = (),
) -> tuple[Finding, ...]:
    """Examine this machine; `ports` are those of the estate, where there is a valid one."""
    return judge(gather(containers, engine, gpus, host, settings, ports))


def judge(facts: MachineFacts) -> tuple[Finding, ...]:
    """Every finding about these facts, in a fixed order."""
    return (*engine_findings(facts), *card_findings(facts), *host_findings(facts))
