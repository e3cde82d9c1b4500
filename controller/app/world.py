"""The world behind the ports: Docker, NVML, HTTP and this machine, or a simulated rig in their place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from controller.adapters.docker.engine import DockerEngine
from controller.adapters.http_probe import HttpProbe
from controller.adapters.kernel_clock import KernelClock
from controller.adapters.linux_host import LinuxHost
from controller.adapters.nvml_gpus import NvmlGpus
from controller.app.files import is_simulated
from controller.app.payloads import payloads_of
from controller.errors import EnvironmentFault, NotFound, StoreDamaged, UsageError
from controller.ports import EngineProbe
from controller.settings import Settings
from controller.store.reading import SqliteReader
from controller.store.secrets import FileSecrets
from controller.store.sqlite import SqliteStore
from reconcilers.rig import World

if TYPE_CHECKING:
    from controller.app.simulated import SimulatedRig


@dataclass(frozen=True, slots=True)
class Parts:
    """What both the controller and the looking verbs use; `stage` is the simulated rig where the world is one."""

    world: World
    probe: EngineProbe
    clock: KernelClock
    secrets: FileSecrets
    stage: SimulatedRig | None = None

    def close(self) -> None:
        """End what lives only as long as they do."""
        if self.stage is not None:
            self.stage.close()


def parts_of(settings: Settings) -> Parts:
    """Build them; nothing connects or starts before its first call. Raises UsageError for a rig that is only facts."""
    if is_simulated(settings.rig):
        from controller.app.simulated import simulated_parts

        return simulated_parts(settings)
    return real_parts(settings, docker_engine(settings))


def docker_engine(settings: Settings) -> DockerEngine:
    """The Docker engine; raises UsageError for a rig that has none."""
    if settings.rig != "auto":
        what = "has no Docker engine" if is_simulated(settings.rig) else "is only facts and cannot be run"
        raise UsageError(f"--rig {settings.rig} {what}; use --rig auto")
    return DockerEngine(settings.docker_host, settings.bounds)


def real_parts(settings: Settings, engine: DockerEngine) -> Parts:
    """The adapters of this machine around a Docker engine."""
    secrets, bounds = secrets_of(settings), settings.bounds
    world = World(
        engine, engine, engine, engine, NvmlGpus(bounds.nvml_read), LinuxHost(bounds), secrets, payloads_of(settings), engine
    )
    return Parts(world, HttpProbe(bounds), KernelClock(), secrets)


def secrets_of(settings: Settings) -> FileSecrets:
    """The secrets of this state folder."""
    return FileSecrets(settings.state / "secrets", settings.state / "secret.key")


def state_folder(settings: Settings) -> Path:
    """The state folder, made private when it is missing; raises UsageError when that is not allowed."""
    try:
        settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the state folder {settings.state} cannot be made ({error.strerror}); choose one with --state"
        ) from error
    return settings.state


@contextmanager
def reading(settings: Settings) -> Iterator[SqliteReader | None]:
    """The store beside its writer, None while there is none; raises EnvironmentFault where this user may not read it."""
    store = _reader(settings)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def _reader(settings: Settings) -> SqliteReader | None:
    try:
        return SqliteStore.open_readonly(settings.store)
    except NotFound:
        return None
    except StoreDamaged as error:
        raise StoreDamaged(f"{error}; `steward run` or `steward apply` sets it aside and goes on without history") from error
    except OSError as error:
        raise EnvironmentFault(f"the state folder {settings.state} cannot be read: {error.strerror}") from error
