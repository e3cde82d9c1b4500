"""Is the machine under the engine fit: memory, disk, kernel limits, clock, ports and folders? Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.adapters.doctor.facts import Folder, MachineFacts, WantedPort
from controller.adapters.doctor.finding import Finding, Health, gib
from controller.model.observed import Container, Listener
from controller.model.reading import Reading, Unknown

_LOW_SHM: Final = 2**30
_LOW_RAM: Final = 4 * 2**30
_LOW_STATE: Final = 2**30
_NO_STATE: Final = 64 * 2**20
_LEAST_WATCHES: Final = 8192
_LEAST_INSTANCES: Final = 128
_SHARED_FOLDER: Final = 0o1777
_OTHERS: Final = 0o077
_EVERY_ADDRESS: Final = frozenset({"0.0.0.0", "::"})


def host_findings(facts: MachineFacts) -> tuple[Finding, ...]:
    """Everything about the host."""
    return (
        *_memory(facts),
        _state_disk(facts.state_disk),
        _limit("inotify watches", facts.inotify_watches, _LEAST_WATCHES, "fs.inotify.max_user_watches"),
        _limit("inotify instances", facts.inotify_instances, _LEAST_INSTANCES, "fs.inotify.max_user_instances"),
        _clock(facts.clock_synchronized),
        Finding("kernel", Health.OK, facts.kernel),
        state_folder(facts.state),
        lock_folder(facts.locks),
        *_ports(facts),
    )


def _memory(facts: MachineFacts) -> Iterable[Finding]:
    if isinstance(facts.memory, Unknown):
        return (Finding("memory", Health.UNKNOWN, facts.memory.reason),)
    memory = facts.memory.value
    ram = f"{gib(memory.available)} of {gib(memory.total)} available"
    shm = gib(memory.shm_total)
    low = Finding("memory", Health.WARN, ram, "engines read weights through RAM; see what else takes it")
    small = Finding("/dev/shm", Health.WARN, shm, "engines on several cards with `ipc: host` need 1 GiB and more of it")
    return (
        low if memory.available < _LOW_RAM else Finding("memory", Health.OK, ram),
        small if memory.shm_total < _LOW_SHM else Finding("/dev/shm", Health.OK, shm),
    )


def _state_disk(free: Reading[int]) -> Finding:
    if isinstance(free, Unknown):
        return Finding("state disk", Health.UNKNOWN, free.reason)
    detail, hint = f"{gib(free.value)} free", "make room where the state folder is: without it no action can be recorded"
    if free.value < _NO_STATE:
        return Finding("state disk", Health.FAIL, detail, hint)
    if free.value < _LOW_STATE:
        return Finding("state disk", Health.WARN, detail, hint)
    return Finding("state disk", Health.OK, detail)


def _limit(name: str, reading: Reading[int], least: int, key: str) -> Finding:
    if isinstance(reading, Unknown):
        return Finding(name, Health.UNKNOWN, reading.reason)
    if reading.value >= least:
        return Finding(name, Health.OK, str(reading.value))
    hint = f"`sysctl {key}={least}`; until then changes of files are found by polling"
    return Finding(name, Health.WARN, f"{reading.value}, fewer than {least}", hint)


def _clock(synchronized: Reading[bool]) -> Finding:
    if isinstance(synchronized, Unknown):
        return Finding("clock", Health.UNKNOWN, synchronized.reason)
    if synchronized.value:
        return Finding("clock", Health.OK, "synchronised")
    detail = "not synchronised: times in journal and logs may be off"
    return Finding("clock", Health.WARN, detail, "start chrony or systemd-timesyncd")


def state_folder(folder: Folder) -> Finding:
    """Steward's own folder: ours alone, because secrets lie in it."""
    refused = _refused("state folder", folder, "choose another with --state")
    if refused is not None:
        return refused
    if folder.exists and folder.mode & _OTHERS:
        return Finding("state folder", Health.WARN, f"{folder.path} is open to others", f"`chmod 700 {folder.path}`")
    return Finding("state folder", Health.OK, folder.path if folder.exists else f"{folder.path} will be made")


def lock_folder(folder: Folder) -> Finding:
    """The folder of the locks: everybody's, so that Stewards of two users see each other."""
    hint = f"`sudo install -d -m 1777 {folder.path}`"
    refused = _refused("lock folder", folder, hint)
    if refused is not None:
        return refused
    if folder.exists and folder.mode != _SHARED_FOLDER:
        detail = f"{folder.path} has mode {folder.mode:o}: a Steward of another user cannot see the lock"
        return Finding("lock folder", Health.WARN, detail, f"`sudo chmod 1777 {folder.path}`")
    return Finding("lock folder", Health.OK, folder.path if folder.exists else f"{folder.path} will be made")


def _refused(name: str, folder: Folder, hint: str) -> Finding | None:
    if not folder.is_folder:
        return Finding(name, Health.FAIL, f"{folder.place} is not a folder", hint)
    if not folder.writable:
        what = "this user may not write to" if folder.exists else f"{folder.path} is missing and this user may not make it in"
        return Finding(name, Health.FAIL, f"{what} {folder.place}", hint)
    return None


def _ports(facts: MachineFacts) -> Iterable[Finding]:
    if not facts.ports:
        return ()
    if isinstance(facts.listeners, Unknown):
        return (Finding("ports", Health.UNKNOWN, facts.listeners.reason),)
    taken = [_taken(wanted, facts.containers, facts.listeners.value) for wanted in facts.ports]
    found = [finding for finding in taken if finding is not None]
    return found or (Finding("ports", Health.OK, f"{len(facts.ports)} of the estate, free or held by its own engines"),)


def _taken(wanted: WantedPort, containers: Reading[tuple[Container, ...]], listeners: tuple[Listener, ...]) -> Finding | None:
    """A finding when somebody else holds the port, or somebody holds it and the engine cannot say whether it is ours."""
    name, hint = f"port {wanted.port}", f"stop it, or give instance {wanted.instance} another port"
    holder = None if isinstance(containers, Unknown) else _holder(wanted, containers.value)
    if holder is not None:
        who = f"container {holder.name} ({holder.short_id})"
        return None if holder.identity is not None else Finding(name, Health.FAIL, _held(wanted, who), hint)
    listener = next((entry for entry in listeners if entry.port == wanted.port and _clash(entry.address, wanted.bind)), None)
    if listener is None:
        return None
    process = f"process {listener.pid} ({listener.process})" if listener.pid is not None else "a process hidden from this user"
    detail = _held(wanted, f"{process} on {listener.address}")
    if isinstance(containers, Unknown):
        return Finding(name, Health.UNKNOWN, f"{detail}; only the engine could tell whether that is its own")
    return Finding(name, Health.FAIL, detail, hint)


def _holder(wanted: WantedPort, containers: tuple[Container, ...]) -> Container | None:
    return next((c for c in containers if c.running and wanted.port in c.host_ports), None)


def _held(wanted: WantedPort, who: str) -> str:
    return f"wanted by {wanted.instance}, held by {who}"


def _clash(one: str, other: str) -> bool:
    return one == other or not _EVERY_ADDRESS.isdisjoint({one, other})
