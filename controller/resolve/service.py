"""The service `engine` of a template, read once: sizes as numbers, volumes as mounts, variables checked."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from controller.model.compose import Service
from controller.model.document import Document
from controller.model.problem import DocPath, Place, Problem
from controller.model.resolved import Ulimit
from controller.resolve.compose_values import compose_bytes, compose_seconds
from controller.resolve.environment import RULE, Variable, template_variables
from controller.resolve.image_reference import is_reference
from controller.resolve.variables import ANYWHERE, IN_SOURCES, variable_fault

N = TypeVar("N", int, float)
_IPC: Final = frozenset({"host", "private", "shareable", "none"})
_LISTS: Final = ("command", "entrypoint", "cap_add", "cap_drop", "devices", "tmpfs", "extra_hosts", "security_opt")
_TEXTS: Final = ("user", "working_dir", "ipc")
ENGINE: Final[DocPath] = ("services", "engine")


@dataclass(frozen=True, slots=True)
class Volume:
    """One bind mount of a template; `source` still has its variables."""

    source: str
    target: str
    read_only: bool
    place: Place


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """What a template's service says, in numbers where it is numbers; texts still have their variables."""

    service: Service
    env: tuple[Variable, ...]
    volumes: tuple[Volume, ...]
    ulimits: tuple[Ulimit, ...]
    shm_bytes: int | None
    mem_limit_bytes: int | None
    stop_grace: float | None


def read_service(document: Document, service: Service, report: list[Problem]) -> ServiceParts:
    """Everything of the service; what is wrong with it goes into the report."""
    reader = _Reader(document, report)
    reader.check_texts(service)
    reader.check_choices(service)
    volumes = tuple(reader.volumes(service))
    return ServiceParts(
        service=service,
        env=template_variables(document, service, report),
        volumes=volumes,
        ulimits=tuple(sorted((_ulimit(name, value) for name, value in service.ulimits.items()), key=lambda u: u.name)),
        shm_bytes=reader.converted("shm_size", service.shm_size, compose_bytes),
        mem_limit_bytes=reader.converted("mem_limit", service.mem_limit, compose_bytes),
        stop_grace=reader.converted("stop_grace_period", service.stop_grace_period, compose_seconds),
    )


def _ulimit(name: str, value: object) -> Ulimit:
    if isinstance(value, int):
        return Ulimit(name, value, value)
    return Ulimit(name, getattr(value, "soft", 0), getattr(value, "hard", 0))


@dataclass(frozen=True, slots=True)
class _Reader:
    document: Document
    report: list[Problem]

    def fault(self, path: DocPath, message: str, hint: str = "") -> None:
        self.report.append(self.document.problem((*ENGINE, *path), RULE, message, hint))

    def converted(self, key: str, value: object, convert: Callable[[object], N]) -> N | None:
        if value is None:
            return None
        try:
            return convert(value)
        except ValueError as error:
            self.fault((key,), str(error))
            return None

    def check_texts(self, service: Service) -> None:
        for key in _LISTS:
            for position, text in enumerate(getattr(service, key) or ()):
                self.check_text((key, position), text)
        for key in _TEXTS:
            if (text := getattr(service, key)) is not None:
                self.check_text((key,), text)

    def check_text(self, path: DocPath, text: str, allowed: frozenset[str] = ANYWHERE) -> bool:
        fault = variable_fault(text, allowed)
        if fault:
            self.fault(path, *fault)
        return fault is None

    def check_choices(self, service: Service) -> None:
        if service.image is not None and not is_reference(service.image):
            self.fault(("image",), f"{service.image} is no image reference", "write repository:tag or repository@sha256:digest")
        if service.ipc is not None and service.ipc not in _IPC:
            self.fault(("ipc",), f"ipc {service.ipc} is not supported", f"one of {', '.join(sorted(_IPC))}")
        if service.cpus is not None and service.cpus <= 0:
            self.fault(("cpus",), "expected more than 0 processors")

    def volumes(self, service: Service) -> Iterator[Volume]:
        seen: set[str] = set()
        for position, text in enumerate(service.volumes):
            path: DocPath = ("volumes", position)
            volume = self._volume(path, text)
            if volume is None:
                continue
            if volume.target in seen:
                self.fault(path, f"{volume.target} is mounted twice", "keep one of them")
            seen.add(volume.target)
            yield volume

    def _volume(self, path: DocPath, text: str) -> Volume | None:
        match = _VOLUME.fullmatch(text)
        source, target, mode = (match[1], match[2], match[3] or "rw") if match else ("", "", "")
        if mode not in ("ro", "rw") or not target.startswith("/"):
            self.fault(path, "expected a bind mount host/path:/container/path[:ro]", "other volumes are not supported")
        elif not source.startswith(("/", "${", "$STEWARD")):
            message = f"{source} is no absolute host path"
            self.fault(path, message, "named volumes and relative paths are not supported; begin with / or ${STEWARD_MODELS}")
        elif self.check_text(path, source, IN_SOURCES) and self.check_text(path, target):
            return Volume(source, posixpath.normpath(target), mode == "ro", self.document.place((*ENGINE, *path)))
        return None


_VOLUME: Final = re.compile(r"((?:\$\{[^}]*\}|[^:$]|\$)+):([^:]+)(?::([^:]+))?")
