"""The port EngineInfo on a Docker engine."""

from __future__ import annotations

from controller.adapters.docker.wire import Wire
from controller.ports import EngineFacts


class DockerInfo:
    """What the engine says about itself, over the wire."""

    def __init__(self, wire: Wire) -> None:
        """Use this connection."""
        self._wire = wire

    def info(self) -> EngineFacts:
        """Its versions and set-up; raises EngineUnreachable."""
        told = self._wire.get("/info")
        return EngineFacts(
            version=str(told.get("ServerVersion", "")),
            api=self._wire.api_version(),
            root_dir=str(told.get("DockerRootDir", "")),
            cgroup_version=str(told.get("CgroupVersion", "")),
            storage_driver=str(told.get("Driver", "")),
            runtimes=tuple(sorted(told.get("Runtimes") or ())),
            ncpu=int(told.get("NCPU", 0)),
            memory=int(told.get("MemTotal", 0)),
        )
