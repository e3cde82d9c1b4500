"""The overlays of a catalogue and of an estate: how each stands, fetching their files, and proving those that are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from controller.adapters.git_files import GitFiles
from controller.app.files import FileResolver, facts_of, source_of
from controller.app.payloads import payloads_of
from controller.errors import SpecFault, StewardError, UsageError
from controller.model.overlay import OVERLAYS, Overlay
from controller.model.payload import Payload, part_of
from controller.model.problem import Problem
from controller.model.profile import EngineProfile
from controller.model.profile_upstream import UpstreamFile
from controller.model.reading import Known
from controller.model.resolved import Resolved
from controller.model.snapshot import Snapshot, snapshot_of
from controller.resolve.nearest import nearest
from controller.resolve.overlay_builds import PinnedBuild, blocked_on, build_of, droppable_since, need_of
from controller.resolve.overlay_content import content_of
from controller.resolve.overlays import overlay_named
from controller.resolve.profiles import Filed, Profiles
from controller.settings import Settings
from controller.sources.overlay_files import OverlayFiles
from controller.sources.search_path import catalogue_for
from observability.overlays import FileState, OverlayLine

_ENGINES: Final = "profiles/engines"
_TRACKER: Final = ("profiles", "upstream")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one overlay: `kept` or `there`, or why not in `fault`."""

    overlay: str
    kept: bool = False
    fault: StewardError | None = None


class OverlayShelf:
    """The overlays that the estate and the catalogue have; reading them is all that it does by itself."""

    def __init__(self, settings: Settings) -> None:
        """Read the estate, if it can be read, and what it puts on."""
        found = source_of(settings).read()
        self._settings = settings
        self._snapshot = found if isinstance(found, Snapshot) else snapshot_of(())
        self._profiles = Profiles(catalogue_for(self._snapshot, settings.profiles, settings.bounds))
        self._files = OverlayFiles(self._snapshot, settings.bounds)
        self._payloads = payloads_of(settings)
        self._resolved = self._resolve() if isinstance(found, Snapshot) else None

    def _resolve(self) -> Resolved | None:
        from controller.adapters.kernel_clock import KernelClock

        now = KernelClock().now().wall
        resolved = FileResolver(self._settings).resolve(self._snapshot, facts_of(self._settings), {}, now)
        return resolved if isinstance(resolved, Resolved) else None

    @property
    def knows_estate(self) -> bool:
        """Whether the estate is valid, so that what it puts on is known."""
        return self._resolved is not None

    def records(self) -> dict[str, Filed[Overlay]]:
        """Every record that is right, by id."""
        return {filed.profile.id: filed for filed in self._profiles.all(OVERLAYS, Overlay)}

    def problems(self) -> Iterator[Problem]:
        """What is wrong with records, and with the files that are there."""
        records = self.records()
        yield from (problem for problems in self._profiles.problems.values() for problem in problems)
        rows = frozenset(row.id for row in self._tracker().upstream)
        for filed in records.values():
            yield from _row_problems(filed, rows)
            yield from self._file_problems(filed)

    def _file_problems(self, filed: Filed[Overlay]) -> Iterator[Problem]:
        payload = None if filed.profile.source == "unavailable" else self._payload(filed)
        if isinstance(payload, str):
            yield filed.document.problem(("source",), "overlay", f"the files of {filed.profile.id} are not there", payload)
        elif payload is not None and self._payloads.has(payload.key) == Known(True):
            for fault in self._payloads.faults(payload.key, payload.parts):
                hint = f"remove the folder {self._payloads.folder}/{payload.key} and fetch it again"
                yield filed.document.problem(("source",), "overlay", fault, hint)

    def lines(self, engine: str | None, image: str | None) -> tuple[OverlayLine, ...]:
        """How each overlay stands: for the instances that have it on, or for one engine, also with another image."""
        tracker = self._tracker()
        rows = {row.id: row for row in tracker.upstream}
        builds = self._builds(engine, tracker)
        later = self._build(engine, image, tracker) if engine and image else None
        found = []
        for filed in self.records().values():
            overlay = filed.profile
            active = self._active(overlay.id, engine)
            used = builds if engine else self._concerned(overlay, active, builds, tracker)
            if engine and not active and not _concerns(overlay, self._engine(engine)):
                continue
            found.append(
                OverlayLine(
                    overlay.id,
                    overlay.title,
                    overlay.mechanism.value if overlay.mechanism else None,
                    tuple(name for name, _ in active),
                    {build.engine: need_of(overlay, build, rows) for build in used},
                    need_of(overlay, later, rows) if later else None,
                    droppable_since(overlay, rows),
                    tuple(f"{row.id} ({row.status.value})" for row in blocked_on(overlay, rows)),
                    overlay.drop_when or "",
                    self._state(filed),
                )
            )
        return tuple(found)

    def fetch(self, names: tuple[str, ...], *, everything: bool) -> Iterator[Fetched]:
        """Bring the files of the named overlays, of all, or of those that the estate puts on; raises UsageError for a name."""
        for filed in self._wanted(names, everything=everything):
            try:
                yield Fetched(filed.profile.id, self._bring(filed))
            except StewardError as fault:
                yield Fetched(filed.profile.id, fault=fault)

    def _wanted(self, names: tuple[str, ...], *, everything: bool) -> list[Filed[Overlay]]:
        if everything:
            return [filed for filed in self.records().values() if filed.profile.source not in ("none", "unavailable")]
        if names:
            return [self._named(name) for name in names]
        if self._resolved is None:
            raise UsageError("the estate is not valid, so what it puts on is not known; name overlays, or use --all")
        used = {use.id for instance in self._resolved.instances for use in instance.overlays}
        return [filed for name, filed in self.records().items() if name in used and self._payload(filed) is not None]

    def _named(self, name: str) -> Filed[Overlay]:
        found = overlay_named(self._profiles, name)
        if found is None:
            hint = nearest(name, self._profiles.catalogue.ids(OVERLAYS), "the catalogue has")
            raise UsageError(f"there is no overlay {name}; {hint}")
        return found

    def _bring(self, filed: Filed[Overlay]) -> bool:
        """Whether anything had to be brought; raises SpecFault for files that are not what the record says."""
        payload = self._payload(filed)
        if payload is None:
            return False
        if isinstance(payload, str):
            raise SpecFault(payload)
        if self._payloads.has(payload.key) == Known(True):
            return False
        if payload.at_hand:
            self._payloads.put(payload)
        else:
            self._payloads.write(payload.key, self._fetched(filed.profile, payload))
        return True

    def _fetched(self, overlay: Overlay, payload: Payload) -> dict[str, bytes]:
        assert overlay.git is not None
        files = GitFiles(self._settings.bounds).fetch(overlay.git)
        for part in payload.parts:
            found = part_of(part.path, files[part.path]).sha256
            if found != part.sha256:
                said = f"it is {found[:12]}..., and the record says {part.sha256[:12]}..."
                raise SpecFault(f"{part.path} is not the file that was recorded: {said}")
        return files

    def _payload(self, filed: Filed[Overlay]) -> Payload | str | None:
        """The files of an overlay; None where it has none, a sentence where they cannot be had."""
        return content_of(filed.profile, filed.document, self._files.payload)

    def _state(self, filed: Filed[Overlay]) -> FileState:
        payload = self._payload(filed)
        if payload is None:
            return FileState.NONE
        if isinstance(payload, str):
            return FileState.UNAVAILABLE
        if payload.at_hand:
            return FileState.AT_HAND
        return FileState.FETCHED if self._payloads.has(payload.key) == Known(True) else FileState.MISSING

    def _active(self, overlay: str, engine: str | None) -> list[tuple[str, str]]:
        """Instances that have it on, each with its engine."""
        instances = self._resolved.instances if self._resolved else ()
        return [
            (instance.name, instance.engine)
            for instance in instances
            if engine in (None, instance.engine) and any(use.id == overlay for use in instance.overlays)
        ]

    def _concerned(
        self, overlay: Overlay, active: list[tuple[str, str]], builds: list[PinnedBuild], tracker: UpstreamFile
    ) -> list[PinnedBuild]:
        """The builds of the instances that have it on; where none has, the ones that its record names."""
        if active:
            return [build for build in builds if build.engine in {engine for _, engine in active}]
        known = set(self._profiles.catalogue.ids(_ENGINES))
        named = [engine for engine in (*overlay.needed_for, *overlay.redundant_for) if engine in known]
        return [self._build(engine, self._engine(engine).image or "", tracker) for engine in named]

    def _tracker(self) -> UpstreamFile:
        found = self._profiles.get(*_TRACKER, UpstreamFile)
        return found.profile if found else UpstreamFile(upstream=())

    def _builds(self, engine: str | None, tracker: UpstreamFile) -> list[PinnedBuild]:
        """The builds that overlays are looked at with: of one engine, or of the instances."""
        if engine:
            return [self._build(engine, self._engine(engine).image or "", tracker)]
        instances = self._resolved.instances if self._resolved else ()
        return [self._build(i.engine, i.spec.image, tracker) for i in instances if i.overlays]

    def _build(self, engine: str, image: str, tracker: UpstreamFile) -> PinnedBuild:
        every = [filed.profile for filed in self._profiles.all(_ENGINES, EngineProfile)]
        return build_of(self._engine(engine), image, tracker, every)

    def _engine(self, name: str) -> EngineProfile:
        found = self._profiles.get(_ENGINES, name, EngineProfile)
        if found is None:
            hint = nearest(name, self._profiles.catalogue.ids(_ENGINES), "the catalogue has")
            raise UsageError(f"there is no engine profile {name}; {hint}")
        return found.profile


def _concerns(overlay: Overlay, engine: EngineProfile) -> bool:
    pinned = engine.pin.overlays if engine.pin else ()
    named = {*engine.required_overlays, *engine.vendored_overlays, *pinned}
    return overlay.id in named or engine.id in overlay.needed_for or engine.id in overlay.redundant_for


def _row_problems(filed: Filed[Overlay], rows: frozenset[str]) -> Iterator[Problem]:
    for position, name in enumerate(filed.profile.rows):
        if name not in rows:
            hint = "add the row, or write upstream: none with an upstream_reason"
            message = f"the upstream tracker has no row {name}"
            yield filed.document.problem(("upstream", position), "overlay", message, hint)
