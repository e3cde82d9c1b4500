"""Values that several files may give: which one counts, and where it stands."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from controller.model.compose import HttpReadiness
from controller.model.parameters import Rejected, Value, check_value
from controller.model.problem import Place, Problem
from controller.model.profile import DialectName
from controller.model.resolved import Origin, Readiness
from controller.resolve.estate import EntrySource, Estate
from controller.resolve.image_reference import is_reference
from controller.resolve.origins import COMPOSE, DEFAULT, DEFAULTS, ESTATE, PROFILE, origin
from controller.resolve.service import ENGINE
from controller.resolve.template import Template

T = TypeVar("T")
SIMULATED_IMAGE: Final = "steward-test/simulated:1"
"""Stands where no image is named on a simulated rig, whose engines need none."""
_NETWORK: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_MODES: Final = frozenset({"host", "none"})


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """A value, where it stands, and the kind of document that it stands in."""

    value: T
    place: Place | None
    source: str

    @property
    def origin(self) -> Origin:
        """As `explain` shows it."""
        return origin(self.value, self.place, self.source)


@dataclass(frozen=True, slots=True)
class Chooser:
    """One entry with its template; every method picks one value, the entry's before the template's before the profile's."""

    source: EntrySource
    template: Template
    report: list[Problem]

    def image(self, *, simulated: bool) -> Chosen[str]:
        """The image reference."""
        entry, template = self.source.entry, self.template
        if entry.image is not None:
            if not is_reference(entry.image):
                hint = "write repository:tag or repository@sha256:digest"
                self._fault(("image",), "image", f"{entry.image} is no image reference", hint)
            return Chosen(entry.image, self.source.place(("image",)), ESTATE)
        if (written := template.parts.service.image) is not None:
            return Chosen(written, template.place(*ENGINE, "image"), COMPOSE)
        if template.profile.image is not None:
            return Chosen(template.profile.image, template.profile_document.place(("image",)), PROFILE)
        if not simulated:
            message = f"no image: engine profile {template.profile.id} names none"
            self._fault((), "image", message, "add image: repository:tag to this entry")
        return Chosen(SIMULATED_IMAGE, None, DEFAULT)

    def container_port(self, parameters: Mapping[str, Value], set_origins: Mapping[str, Origin]) -> Chosen[int]:
        """The port inside the container."""
        template = self.template
        value = parameters.get("container_port")
        if isinstance(value, int):
            found = set_origins["set.container_port"]
            return Chosen(value, found.place, found.source)
        if template.steward.container_port is not None:
            return Chosen(template.steward.container_port, template.place("x-steward", "container_port"), COMPOSE)
        port = template.profile.container_port
        if "container_port" in template.profile.model_fields_set:
            return Chosen(port, template.profile_document.place(("container_port",)), PROFILE)
        return Chosen(port, None, DEFAULT)

    def served_names(self, parameters: Mapping[str, Value], set_origins: Mapping[str, Origin]) -> Chosen[tuple[str, ...]]:
        """All names that the engine answers to, the canonical one first; none for a tenant that is no engine."""
        entry, template = self.source.entry, self.template
        if "served_name" not in template.dialect.supported:
            if entry.served_names:
                self._fault(("served_names",), "served_names", f"{template.dialect.name} serves no model", "remove it")
            return Chosen((), None, DEFAULT)
        if entry.served_names:
            self._check_names()
            return Chosen(tuple(dict.fromkeys(entry.served_names)), self.source.place(("served_names",)), ESTATE)
        if isinstance(name := parameters.get("served_name"), str):
            found = set_origins["set.served_name"]
            return Chosen((name,), found.place, found.source)
        if template.steward.served_name is not None:
            return Chosen((template.steward.served_name,), template.place("x-steward", "served_name"), COMPOSE)
        return Chosen((entry.name,), self.source.place(("name",)), ESTATE)

    def _check_names(self) -> None:
        for position, name in enumerate(self.source.entry.served_names):
            checked = check_value("served_name", name)
            if isinstance(checked, Rejected):
                self._fault(("served_names", position), "served_names", checked.message, checked.hint)

    def bind(self, estate: Estate) -> Chosen[str]:
        """The host address of the public port."""
        entry = self.source.entry
        if entry.bind is not None:
            if not is_address(entry.bind):
                self._fault(("bind",), "bind", f"{entry.bind} is no IP address", "write 127.0.0.1, 0.0.0.0 or one of this host")
            return Chosen(entry.bind, self.source.place(("bind",)), ESTATE)
        document = estate.defaults_document
        if document and "bind" in estate.defaults.model_fields_set:
            return Chosen(estate.defaults.bind, document.place(("defaults", "bind")), DEFAULTS)
        return Chosen(estate.defaults.bind, None, DEFAULT)

    def networks(self) -> tuple[str, ...]:
        """Extra Docker networks."""
        for position, name in enumerate(self.source.entry.networks):
            if not _NETWORK.fullmatch(name) or name in _MODES:
                hint = "name a Docker network that exists; host and none are no networks to join"
                self._fault(("networks", position), "networks", f"{name} is no network to join", hint)
        return tuple(dict.fromkeys(self.source.entry.networks))

    def readiness(self, parameters: Mapping[str, Value]) -> Readiness:
        """How to see that a generic tenant is ready; engines are asked in their dialect's way."""
        if self.template.profile.type is not DialectName.GENERIC:
            return Readiness()
        if isinstance(path := parameters.get("ready_path"), str):
            return Readiness("http", path)
        written = self.template.steward.readiness
        if isinstance(written, HttpReadiness):
            return Readiness("http", written.http)
        return Readiness(written or "tcp")

    def _fault(self, path: tuple[str | int, ...], rule: str, message: str, hint: str) -> None:
        self.report.append(self.source.problem(path, rule, message, hint))


def is_address(text: str) -> bool:
    """Whether it is an IP address, the only thing that a port can be bound to without asking a name server."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
