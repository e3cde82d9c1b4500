"""The real world behind the ports: Docker, NVML, HTTP and this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller.adapters.docker.engine import DockerEngine
from controller.adapters.http_probe import HttpProbe
from controller.adapters.kernel_clock import KernelClock
from controller.adapters.linux_host import LinuxHost
from controller.adapters.nvml_gpus import NvmlGpus
from controller.app.files import is_simulated
from controller.errors import EnvironmentFault, NotFound, StoreDamaged, UsageError
from controller.settings import Settings
from controller.store.reading import SqliteReader
from controller.store.secrets import FileSecrets
from controller.store.sqlite import SqliteStore
from reconcilers.rig import World


@dataclass(frozen=True, slots=True)
class Real:
    """The adapters that both the controller and the looking verbs use."""

    world: World
    engine: DockerEngine
    probe: HttpProbe
    clock: KernelClock
    secrets: FileSecrets


def real(settings: Settings) -> Real:
    """Build the adapters; nothing connects before its first call. Raises UsageError for a rig that is only facts."""
    if settings.rig != "auto":
        what = (
            "the simulated rig cannot be run by this version" if is_simulated(settings.rig) else "a rig of facts cannot be run"
        )
        raise UsageError(f"--rig {settings.rig}: {what}; use --rig auto, or `steward validate` and `steward render`")
    engine = DockerEngine(settings.docker_host, settings.bounds)
    secrets = FileSecrets(settings.state / "secrets", settings.state / "secret.key")
    world = World(engine, engine, engine, engine, NvmlGpus(settings.bounds.nvml_read), LinuxHost(settings.bounds), secrets)
    return Real(world, engine, HttpProbe(settings.bounds), KernelClock(), secrets)


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
