"""The doctor: each judgement over facts as data, the gathering on this machine, and the table."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from controller.adapters.doctor import Finding, Health, WantedPort, doctor_text, judge, run_doctor
from controller.adapters.doctor.facts import Folder, MachineFacts
from controller.adapters.doctor.gather import clock_synchronized, folder_of, gather
from controller.adapters.linux_host import LinuxHost
from controller.errors import EngineUnreachable
from controller.model.identity import Identity
from controller.model.observed import Container, ContainerState, Listener
from controller.model.reading import Known, Unknown
from controller.model.rig import Card, RigFacts
from controller.ports import EngineFacts, HostMemory
from controller.settings import Settings
from controller.simulation.cards import SimulatedGpus
from controller.simulation.container_engine import SimulatedEngine
from controller.simulation.memory_world import MemoryClock, MemoryHost, memory_cards
from controller.simulation.scripted import ScriptedProcesses

GIB = 2**30
ENGINE = EngineFacts(
    "27.1.1", "1.46", "/var/lib/docker", "2", "overlay2", ("io.containerd.runc.v2", "nvidia", "runc"), 16, 64 * GIB
)
CARD = Card(
    0,
    "GPU-5157e3a0-0000-4000-8000-000000000000",
    "NVIDIA GeForce RTX 3090",
    memory_total=Known(24 * GIB),
    memory_used=Known(GIB),
    power_watts=Known(23.4),
    power_limit_watts=Known(350.0),
    utilization=Known(0.0),
    pcie_generation=Known(4),
    pcie_width=Known(16),
    pcie_max_generation=Known(4),
    pcie_max_width=Known(16),
    persistence=Known(True),
    healthy=Known(True),
)
RIG = RigFacts(Known((CARD,)), driver=Known("580.65.06"), cuda=Known("13.0"))
FINE = MachineFacts(
    engine=Known(ENGINE),
    containers=Known(()),
    cards=RIG,
    listeners=Known(()),
    memory=Known(HostMemory(64 * GIB, 48 * GIB, 32 * GIB)),
    engine_disk=Known(500 * GIB),
    state_disk=Known(500 * GIB),
    inotify_watches=Known(192_536),
    inotify_instances=Known(128),
    clock_synchronized=Known(True),
    kernel="6.1.0-31-amd64",
    state=Folder("/var/lib/steward", True, "/var/lib/steward", True, True, 0o700),
    locks=Folder("/run/lock/steward", True, "/run/lock/steward", True, True, 0o1777),
    ports=(WantedPort("chat", 8010),),
)


def with_card(**changes: object) -> MachineFacts:
    """The fine machine with another card."""
    return replace(FINE, cards=replace(RIG, cards=Known((replace(CARD, **changes),))))  # type: ignore[arg-type]


def finding(facts: MachineFacts, name: str) -> Finding:
    """The one finding of this name."""
    (found,) = (entry for entry in judge(facts) if entry.name == name)
    return found


def test_nothing_is_found_on_a_fine_machine() -> None:
    """Given a machine in order, then every finding is ok, none has a hint, and each is named once."""
    findings = judge(FINE)

    assert {entry.status for entry in findings} == {Health.OK}
    assert {entry.hint for entry in findings} == {""}
    assert len({entry.name for entry in findings}) == len(findings) == 21


@pytest.mark.parametrize(
    ("facts", "name", "status", "says"),
    [
        (replace(FINE, engine=Unknown("the Docker engine does not answer")), "docker", Health.FAIL, "does not answer"),
        (replace(FINE, engine=Known(replace(ENGINE, api="1.39"))), "docker", Health.FAIL, "API 1.39"),
        (replace(FINE, engine=Known(replace(ENGINE, cgroup_version="1"))), "cgroup", Health.WARN, "version 1"),
        (replace(FINE, engine=Known(replace(ENGINE, cgroup_version=""))), "cgroup", Health.UNKNOWN, "not tell"),
        (replace(FINE, engine=Known(replace(ENGINE, storage_driver="vfs"))), "docker storage", Health.WARN, "vfs"),
        (replace(FINE, engine=Known(replace(ENGINE, runtimes=("runc",)))), "nvidia runtime", Health.WARN, "not registered"),
        (replace(FINE, engine_disk=Known(30 * GIB)), "docker disk", Health.WARN, "30.0 GiB"),
        (replace(FINE, engine_disk=Known(GIB)), "docker disk", Health.FAIL, "1.0 GiB"),
        (replace(FINE, engine_disk=Unknown("is remote")), "docker disk", Health.UNKNOWN, "remote"),
        (replace(FINE, cards=RigFacts(Unknown("the NVIDIA driver is not loaded"))), "nvml", Health.WARN, "not loaded"),
        (replace(FINE, cards=replace(RIG, cards=Known(()))), "nvml", Health.WARN, "no card"),
        (replace(FINE, cards=replace(RIG, cuda=Known("11.4"))), "nvidia driver", Health.WARN, "CUDA 11.4"),
        (replace(FINE, cards=replace(RIG, driver=Unknown("may not be read"))), "nvidia driver", Health.UNKNOWN, "may not"),
        (with_card(healthy=Known(False)), "card 0", Health.FAIL, "lost"),
        (with_card(healthy=Unknown("no live reading")), "card 0", Health.UNKNOWN, "no live reading"),
        (with_card(pcie_width=Known(4)), "card 0 pcie", Health.WARN, "gen 4 x4 of gen 4 x16"),
        (with_card(pcie_generation=Known(1)), "card 0 pcie", Health.OK, "idle card"),
        (with_card(pcie_generation=Known(1), utilization=Known(0.9)), "card 0 pcie", Health.WARN, "under load"),
        (with_card(pcie_max_width=Unknown("not offered")), "card 0 pcie", Health.UNKNOWN, "not offered"),
        (with_card(persistence=Known(False)), "card 0 persistence", Health.WARN, "off"),
        (with_card(persistence=Unknown("not offered")), "card 0 persistence", Health.UNKNOWN, "not offered"),
        (with_card(power_limit_watts=Unknown("may not be read")), "card 0 power", Health.UNKNOWN, "may not be read"),
        (with_card(power_watts=Unknown("not offered")), "card 0 power", Health.OK, "limit 350 W"),
        (replace(FINE, memory=Known(HostMemory(64 * GIB, GIB, 32 * GIB))), "memory", Health.WARN, "1.0 GiB of 64.0 GiB"),
        (replace(FINE, memory=Known(HostMemory(64 * GIB, 48 * GIB, 2**26))), "/dev/shm", Health.WARN, "0.1 GiB"),
        (replace(FINE, memory=Unknown("not readable")), "memory", Health.UNKNOWN, "not readable"),
        (replace(FINE, state_disk=Known(2**29)), "state disk", Health.WARN, "0.5 GiB"),
        (replace(FINE, state_disk=Known(0)), "state disk", Health.FAIL, "0.0 GiB"),
        (replace(FINE, state_disk=Unknown("did not answer")), "state disk", Health.UNKNOWN, "did not answer"),
        (replace(FINE, inotify_watches=Known(1024)), "inotify watches", Health.WARN, "fewer than 8192"),
        (replace(FINE, inotify_instances=Unknown("not readable")), "inotify instances", Health.UNKNOWN, "not readable"),
        (replace(FINE, clock_synchronized=Known(False)), "clock", Health.WARN, "not synchronised"),
        (replace(FINE, clock_synchronized=Unknown("not told")), "clock", Health.UNKNOWN, "not told"),
    ],
)
def test_each_fault_has_its_finding(facts: MachineFacts, name: str, status: Health, says: str) -> None:
    """Given one thing that is wrong or not to be read, then its finding says so; what can be mended has a hint."""
    found = finding(facts, name)

    assert (found.status, says in found.detail) == (status, True), found
    if status in (Health.WARN, Health.FAIL):
        assert found.hint


def test_one_fault_leaves_the_other_findings_alone() -> None:
    """Given an engine that cannot be reached, then cards and host are judged all the same."""
    names = [entry.name for entry in judge(replace(FINE, engine=Unknown("refused"), containers=Unknown("refused")))]

    assert {"docker", "card 0", "memory", "clock", "ports"} <= set(names)


def test_machine_without_cards_is_not_ill() -> None:
    """Given a machine whose cards are not readable, then nothing fails and no runtime is asked for."""
    facts = replace(FINE, cards=RigFacts(Unknown("no driver")), engine=Known(replace(ENGINE, runtimes=("runc",))))

    assert Health.FAIL not in {entry.status for entry in judge(facts)}
    assert finding(facts, "nvidia runtime").status is Health.OK


def test_links_and_notes_of_several_cards_are_told() -> None:
    """Given two linked cards and a note of the driver, then the pair and the note are findings."""
    rig = replace(RIG, cards=Known((CARD, replace(CARD, index=1))), nvlink=((0, 1),), notes=("card 2 is silent",))
    findings = judge(replace(FINE, cards=rig))

    assert Finding("nvlink", Health.OK, "between cards 0-1") in findings
    assert Finding("nvml", Health.WARN, "card 2 is silent") in findings


def container(*, ours: bool, state: ContainerState = ContainerState.RUNNING) -> Container:
    """A container that publishes port 8010."""
    identity = Identity("rig", "chat", "0" * 64, 1) if ours else None
    return Container("c0ffee" * 10, "somebody", state, identity=identity, host_ports=(8010,))


def with_ports(containers: object, *listeners: Listener) -> MachineFacts:
    """The fine machine with these containers and listeners."""
    return replace(FINE, containers=containers, listeners=Known(listeners))  # type: ignore[arg-type]


PROXY = Listener("127.0.0.1", 8010, 812, "docker-proxy")


def test_port_of_a_foreign_process_is_named_with_it() -> None:
    """Given a process that listens on a port of the estate, then the port fails and process and instance are named."""
    found = finding(with_ports(Known(()), Listener("0.0.0.0", 8010, 4711, "nginx")), "port 8010")

    assert found.status is Health.FAIL
    assert found.detail == "wanted by chat, held by process 4711 (nginx) on 0.0.0.0"
    assert "chat" in found.hint


def test_port_of_a_hidden_process_is_still_told() -> None:
    """Given a listener whose process this user may not see, then the port fails all the same."""
    assert "hidden" in finding(with_ports(Known(()), Listener("::", 8010)), "port 8010").detail


def test_port_of_a_foreign_container_names_the_container() -> None:
    """Given a foreign container on the port, then it is named rather than the proxy that listens for it."""
    found = finding(with_ports(Known((container(ours=False),)), PROXY), "port 8010")

    assert (found.status, "container somebody (c0ffeec0ffee)" in found.detail) == (Health.FAIL, True)


def test_port_of_an_own_engine_is_fine() -> None:
    """Given one of our containers on the port, then the proxy that listens for it is no fault."""
    assert finding(with_ports(Known((container(ours=True),)), PROXY), "ports").status is Health.OK


def test_stopped_container_holds_no_port() -> None:
    """Given a container that does not run, then whoever listens is somebody else."""
    stopped = container(ours=True, state=ContainerState.EXITED)

    assert finding(with_ports(Known((stopped,)), PROXY), "port 8010").status is Health.FAIL


def test_port_on_another_address_does_not_clash() -> None:
    """Given a listener on an address that the instance does not want, then the port is free."""
    assert finding(with_ports(Known(()), Listener("192.168.1.5", 8010, 9, "sshd")), "ports").status is Health.OK


def test_port_without_the_engine_is_not_judged() -> None:
    """Given a listener and an engine that cannot be asked, then nobody is blamed: it may be our own engine."""
    assert finding(with_ports(Unknown("refused"), PROXY), "port 8010").status is Health.UNKNOWN


def test_ports_that_cannot_be_read_are_unknown() -> None:
    """Given no table of listeners, then no port is called free."""
    assert finding(replace(FINE, listeners=Unknown("hidden")), "ports").status is Health.UNKNOWN


@pytest.mark.parametrize(
    ("folder", "status", "says"),
    [
        (Folder("/s", True, "/s", True, True, 0o755), Health.WARN, "open to others"),
        (Folder("/s", True, "/s", False, True, 0o600), Health.FAIL, "not a folder"),
        (Folder("/s", True, "/s", True, False, 0o700), Health.FAIL, "may not write"),
        (Folder("/s/t", False, "/s", True, False, 0o755), Health.FAIL, "may not make it in /s"),
        (Folder("/s/t", False, "/s", True, True, 0o755), Health.OK, "will be made"),
    ],
)
def test_state_folder(folder: Folder, status: Health, says: str) -> None:
    """Given a state folder in some condition, then it is judged by who may write to it and who may read it."""
    found = finding(replace(FINE, state=folder), "state folder")

    assert (found.status, says in found.detail) == (status, True), found


def test_lock_folder_of_one_user_alone_is_a_warning() -> None:
    """Given a lock folder that others cannot write to, then two users' Stewards could miss each other."""
    found = finding(replace(FINE, locks=replace(FINE.locks, mode=0o755)), "lock folder")

    assert (found.status, found.hint) == (Health.WARN, "`sudo chmod 1777 /run/lock/steward`")


def test_folders_are_seen_where_they_are_or_will_be(tmp_path: Path) -> None:
    """Given folders that exist, will exist, and cannot exist, then each is told with the place that decides."""
    private = str(tmp_path / "private")
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "file").write_text("")

    assert folder_of(tmp_path / "private") == Folder(private, True, private, True, True, 0o700)
    missing = folder_of(tmp_path / "private/a/b")
    assert (missing.exists, missing.place) == (False, str(tmp_path / "private"))
    assert not folder_of(tmp_path / "file/below").is_folder


class Daemon:
    """An engine that tells what it was given, or refuses."""

    def __init__(self, facts: EngineFacts | None) -> None:
        self._facts = facts

    def info(self) -> EngineFacts:
        """The facts."""
        if self._facts is None:
            raise EngineUnreachable("the Docker engine does not answer: connection refused")
        return self._facts


def simulated_rig(cards: int) -> tuple[SimulatedEngine, SimulatedGpus]:
    """An engine in memory and so many cards."""
    clock = MemoryClock()
    engine = SimulatedEngine(clock, ScriptedProcesses(clock))
    return engine, SimulatedGpus(RigFacts(Known(memory_cards(cards))), engine.cells, clock)


def examine(tmp_path: Path, facts: EngineFacts | None) -> tuple[Finding, ...]:
    """Run the doctor over a simulated rig."""
    engine, gpus = simulated_rig(2)
    settings = Settings(estate=tmp_path, state=tmp_path / "state", lock_dir=tmp_path / "locks")
    return run_doctor(engine, Daemon(facts), gpus, MemoryHost(engine), settings, (WantedPort("chat", 8010),))


def test_doctor_examines_a_whole_rig(tmp_path: Path) -> None:
    """Given an engine, two cards and a host, then each part has its findings and nothing fails."""
    findings = examine(tmp_path, replace(ENGINE, root_dir=str(tmp_path)))

    names = [entry.name for entry in findings]
    assert names[:2] == ["docker", "cgroup"]
    assert {"card 0", "card 1 pcie", "nvlink", "/dev/shm", "state folder", "lock folder", "ports"} <= set(names)
    assert Health.FAIL not in {entry.status for entry in findings}


def test_doctor_without_an_engine_still_examines_the_rest(tmp_path: Path) -> None:
    """Given an engine that refuses, then that is one failure among findings, and nothing is raised."""
    findings = examine(tmp_path, None)

    assert [entry.name for entry in findings if entry.status is Health.FAIL] == ["docker"]
    assert {"nvml", "memory", "ports"} <= {entry.name for entry in findings}


def test_engine_on_another_machine_has_no_disk_here(tmp_path: Path) -> None:
    """Given an engine whose folder is not on this machine, then its disk is Unknown rather than that of the root."""
    (found,) = (e for e in examine(tmp_path, replace(ENGINE, root_dir=str(tmp_path / "elsewhere"))) if e.name == "docker disk")

    assert (found.status, "not on this machine" in found.detail) == (Health.UNKNOWN, True)


def test_kernel_settings_are_read_from_the_given_tree(tmp_path: Path) -> None:
    """Given a kernel tree with one setting, then it is read and the missing one is Unknown with its file."""
    (tmp_path / "sys/fs/inotify").mkdir(parents=True)
    (tmp_path / "sys/fs/inotify/max_user_watches").write_text("65536\n")
    engine, gpus = simulated_rig(0)
    settings = Settings(estate=tmp_path, state=tmp_path, lock_dir=tmp_path)

    facts = gather(engine, Daemon(ENGINE), gpus, LinuxHost(), settings, (), proc=tmp_path)

    assert facts.inotify_watches == Known(65536)
    assert isinstance(facts.inotify_instances, Unknown)
    assert "max_user_instances" in facts.inotify_instances.reason


def test_clock_of_this_machine_is_told_or_says_why_not() -> None:
    """Given the real kernel, then the clock's state is a plain yes or no, or Unknown with a reason."""
    reading = clock_synchronized()

    assert isinstance(reading.value, bool) if isinstance(reading, Known) else reading.reason


def test_table_is_readable_by_people() -> None:
    """Given findings of every kind, then each has a line, its hint stands below, and the last line counts them."""
    findings = (
        Finding("docker", Health.OK, "Docker 27.1.1"),
        Finding("card 0 pcie", Health.WARN, "gen 4 x4 of gen 4 x16", "reseat the card"),
        Finding("port 8010", Health.FAIL, "held by process 4711 (nginx)", "stop it"),
        Finding("clock", Health.UNKNOWN, "not told"),
    )

    assert doctor_text(findings) == (
        "ok       docker       Docker 27.1.1\n"
        "warn     card 0 pcie  gen 4 x4 of gen 4 x16\n"
        "                      hint: reseat the card\n"
        "fail     port 8010    held by process 4711 (nginx)\n"
        "                      hint: stop it\n"
        "unknown  clock        not told\n"
        "1 fail, 1 warn, 1 unknown, 1 ok\n"
    )


def test_table_of_this_machine_has_one_line_a_finding(tmp_path: Path) -> None:
    """Given a whole examination, then every finding begins a line with its status."""
    findings = examine(tmp_path, ENGINE)

    starts = re.findall(r"^(ok|warn|fail|unknown) ", doctor_text(findings), flags=re.MULTILINE)
    assert starts == [str(entry.status) for entry in findings]
