"""Whether a build of an engine needs an overlay, and since when it can be left out, by the upstream tracker. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from controller.model.overlay import Overlay
from controller.model.profile import EngineProfile
from controller.model.profile_upstream import Build, UpstreamFile, UpstreamRow, UpstreamStatus

_RELEASE: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
_CHANGES: Final = ("pull", "release")
"""Kinds of rows that a build can contain; the others only tell of a fault."""
_OPEN: Final = frozenset(
    {
        UpstreamStatus.OPEN,
        UpstreamStatus.STALLED,
        UpstreamStatus.NO_FIX_YET,
        UpstreamStatus.LOCAL_WORKAROUND,
        UpstreamStatus.CLOSED_WITHOUT_FIX,
    }
)


class Need(StrEnum):
    """What an overlay is to a build."""

    NEEDED = "needed"
    REDUNDANT = "redundant"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PinnedBuild:
    """One image of an engine and what is known of it. `own`: it is the image of the profile, which overlays' records name."""

    engine: str
    image: str
    own: bool
    version: str = ""
    contains: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()

    @property
    def release(self) -> tuple[int, ...] | None:
        """Its version as numbers; None where only a commit names it."""
        return release_of(self.version)


@dataclass(frozen=True, slots=True)
class OverlayNeed:
    """The verdict on one overlay and one build, with the reason in a few words."""

    need: Need
    why: str = ""


def build_of(profile: EngineProfile, image: str, tracker: UpstreamFile, profiles: Sequence[EngineProfile]) -> PinnedBuild:
    """An image of an engine, with what its profile, another one's, or the tracker knows of it."""
    own = image == profile.image
    known = profile if own else next((other for other in profiles if other.image == image), None)
    if known is not None:
        pin = known.pin
        contains, lacks = (pin.contains, pin.lacks) if pin else ((), ())
        version = known.version or _tag(image)
        return PinnedBuild(profile.id, image, own, version, frozenset(contains), frozenset(lacks))
    recorded = next((build for build in tracker.builds if _is_build(build, image)), None)
    if recorded is not None:
        return PinnedBuild(profile.id, image, own, recorded.version or "", frozenset(recorded.contains))
    return PinnedBuild(profile.id, image, own, _tag(image))


def need_of(overlay: Overlay, build: PinnedBuild, rows: Mapping[str, UpstreamRow]) -> OverlayNeed:
    """Whether a build needs an overlay."""
    if build.own and build.engine in overlay.redundant_for:
        return OverlayNeed(Need.REDUNDANT, "its record says so")
    changes = [rows[name] for name in overlay.rows if name in rows and rows[name].kind in _CHANGES]
    if changes and all(_has(row, build) is True for row in changes):
        return OverlayNeed(Need.REDUNDANT, f"the build has {', '.join(row.id for row in changes)}")
    if build.engine not in overlay.needed_for and build.engine not in overlay.redundant_for:
        return OverlayNeed(Need.UNKNOWN, "its record does not name this engine")
    lacking = [row for row in changes if _has(row, build) is False]
    if lacking:
        return OverlayNeed(Need.NEEDED, f"the build lacks {', '.join(row.id for row in lacking)}")
    if build.own:
        return OverlayNeed(Need.NEEDED, "its record says so")
    return OverlayNeed(Need.UNKNOWN, "what this build contains is not recorded")


def droppable_since(overlay: Overlay, rows: Mapping[str, UpstreamRow]) -> str:
    """The first release that has all of it; empty while there is none."""
    changes = [rows[name] for name in overlay.rows if name in rows and rows[name].kind in _CHANGES]
    since = [row.native_since for row in changes if row.native_since]
    return max(since, key=lambda text: release_of(text) or ()) if since and len(since) == len(changes) else ""


def blocked_on(overlay: Overlay, rows: Mapping[str, UpstreamRow]) -> Iterator[UpstreamRow]:
    """The rows that upstream has not dealt with; none where a release has all of the overlay."""
    if droppable_since(overlay, rows):
        return
    for name in overlay.rows:
        row = rows.get(name)
        if row is not None and row.status in _OPEN and row.native_since is None and row.merged_commit is None:
            yield row


def release_of(text: str) -> tuple[int, ...] | None:
    """The numbers of a release such as `v0.22.0`; of a build before a release those of the release."""
    match = _RELEASE.match(text)
    return tuple(int(part or 0) for part in match.groups()) if match else None


def _has(row: UpstreamRow, build: PinnedBuild) -> bool | None:
    """Whether a build has a change; None where nothing tells."""
    if row.id in build.contains:
        return True
    if row.id in build.lacks:
        return False
    release, since = build.release, release_of(row.native_since or "")
    if release is not None and since is not None:
        return release >= since
    last_without = release_of(row.missing_in or "")
    if release is not None and last_without is not None and release <= last_without:
        return False
    return False if row.status in _OPEN and row.merged_commit is None and row.native_since is None else None


def _is_build(build: Build, image: str) -> bool:
    return build.image == image or build.revision in _tag(image)


def _tag(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]
