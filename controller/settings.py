"""Every bound and default of the process in one frozen value; `load` is the only reader of the environment."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every wait, queue and read of the process has its bound here; seconds and bytes.

    Sources: docs/defaults.md gives the reason for each figure.
    """

    poll: float = 5.0
    """Content polling of the estate; file events only wake it earlier."""
    settle: float = 0.25
    """Quiet time after the last file event before the estate is read."""
    gather: float = 0.05
    """After a worker ended a job, how long others are waited for before the pass that takes them all."""
    relist: float = 15.0
    """Full observation of the engine; its events only wake it earlier."""
    booting_relist: float = 2.0
    """The same while an engine boots, whose log is the sign of life that the stall timer waits for, or waits for memory."""
    docker_read: float = 10.0
    docker_write: float = 60.0
    docker_stop_margin: float = 15.0
    """Beyond the drain's `term`, for the engine's own kill."""
    nvml_read: float = 10.0
    """One reading of all cards; a sick card can keep the driver from answering at all."""
    host_read: float = 5.0
    """One question to a file system; a network mount that is gone does not answer."""
    pull: float = 3600.0
    """One image pull from its first byte to its last."""
    pull_stall: float = 120.0
    """A pull without any progress message for this long has hung."""
    booting_probe: float = 1.0
    """Interval of probes while an engine boots; afterwards `health.interval` holds."""
    fetch: float = 300.0
    """One step of fetching an overlay's files, such as bringing a commit."""
    overlay_bytes: int = 64 * 1024 * 1024
    """All files of one overlay together."""
    overlay_files: int = 2000
    registry_read: float = 15.0
    """One question to a registry for an image's manifest, or for the token that it wants first."""
    inspect: float = 20.0
    """One look into a container for the sentinel of an overlay."""
    inspect_again: float = 60.0
    """Pause after a look that failed."""
    log_tail_lines: int = 60
    log_tail_bytes: int = 65536
    http_body: int = 4 * 1024 * 1024
    estate_file: int = 2 * 1024 * 1024
    estate_files: int = 256
    yaml_depth: int = 64
    yaml_nodes: int = 200_000
    yaml_aliases: int = 1000
    drift_grace: float = 5.0
    """A container that was stopped, paused or renamed by hand is corrected after this."""
    backoff_first: float = 1.0
    backoff_cap: float = 60.0
    restart_reset: float = 600.0
    """Continuous readiness after which an engine's restarts count from zero again."""
    workers: int = 24
    """Threads for actions and probes; a lane takes at most one."""
    command_queue: int = 64
    journal_rows: int = 20_000
    revisions_kept: int = 50
    shutdown: float = 20.0
    """How long `run` waits for actions in flight when it is asked to end."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the flags and the environment say; `rig` is `auto`, `sim[:FILE]`, a file, or a grammar text."""

    estate: Path
    state: Path
    lock_dir: Path
    rig: str = "auto"
    listen: str = "127.0.0.1:9473"
    profiles: Path | None = None
    docker_host: str | None = None
    bounds: Bounds = Bounds()

    @property
    def socket(self) -> Path:
        """The unix socket of the process that holds the lock."""
        return self.state / "steward.sock"

    @property
    def store(self) -> Path:
        """The SQLite file."""
        return self.state / "steward.db"


def load(flags: Mapping[str, str | None], environ: Mapping[str, str] | None = None) -> Settings:
    """Flags win over `STEWARD_*` variables, which win over the defaults."""
    env = os.environ if environ is None else environ

    def value(name: str, default: str) -> str:
        return flags.get(name) or env.get(f"STEWARD_{name.upper()}") or default

    profiles = value("profiles", "")
    return Settings(
        estate=Path(value("estate", "desired")),
        state=Path(value("state", str(_state_dir(env)))),
        lock_dir=Path(value("lock_dir", "/run/lock/steward")),
        rig=value("rig", "auto"),
        listen=value("listen", "127.0.0.1:9473"),
        profiles=Path(profiles) if profiles else None,
        docker_host=env.get("DOCKER_HOST") or None,
    )


def _state_dir(env: Mapping[str, str]) -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/steward")
    home = env.get("XDG_STATE_HOME") or f"{env.get('HOME') or pwd.getpwuid(os.geteuid()).pw_dir}/.local/state"
    return Path(home) / "steward"
