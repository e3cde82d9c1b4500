"""Asks registries, one after the other, whether they still have the images that engine profiles name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from controller.adapters.http.image_registry import ImageRegistries
from controller.adapters.kernel_clock import KernelClock
from controller.model.problem import Problem, Severity
from controller.model.profile import DialectName, EngineProfile
from controller.model.profile_engine import AvailabilityState
from controller.model.profile_registries import RegistriesFile
from controller.resolve.profiles import Filed, Profiles
from controller.settings import Bounds
from observability.images import ImageLine

RULE: Final = "availability"
_DAY: Final = 10


def images_online(profiles: Profiles, bounds: Bounds) -> Iterator[tuple[ImageLine, tuple[Problem, ...]]]:
    """Each image once, with a warning for every profile that records something else, a note where it records nothing."""
    addresses = profiles.get("profiles", "registries", RegistriesFile)
    registries = ImageRegistries(bounds, addresses.profile.apis if addresses else {})
    try:
        for image, users in _images(profiles).items():
            seen, day = registries.look(image), KernelClock().now().iso()[:_DAY]
            record = users[0].profile.availability
            engines = tuple(filed.profile.id for filed in users)
            line = ImageLine(engines, image, record.state, record.as_of, seen.state, day, seen.why)
            yield line, tuple(_differing(users, line))
    finally:
        registries.close()


def _images(profiles: Profiles) -> dict[str, list[Filed[EngineProfile]]]:
    found: dict[str, list[Filed[EngineProfile]]] = {}
    for filed in profiles.all("profiles/engines", EngineProfile):
        if filed.profile.image is not None and filed.profile.type is not DialectName.SIMULATED:
            found.setdefault(filed.profile.image, []).append(filed)
    return found


def _differing(users: Sequence[Filed[EngineProfile]], line: ImageLine) -> Iterator[Problem]:
    for filed in users:
        recorded = filed.profile.availability
        if line.differs and recorded.state is not line.seen:
            message = f"{line.image} is recorded as {recorded.state}, and its registry says {line.seen}"
            hint = f'write availability: {{state: {line.seen}, as_of: "{line.seen_on}"}}'
            severity = Severity.INFO if recorded.state is AvailabilityState.UNKNOWN else Severity.WARNING
            yield filed.document.problem(("availability", "state"), RULE, message, hint, severity=severity)
