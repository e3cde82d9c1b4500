"""The port Images on a Docker engine: local images, and pulls with their progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from docker.utils import parse_repository_tag

from controller.adapters.docker.credentials import registry_header
from controller.adapters.docker.read import image_of
from controller.adapters.docker.translate import pull_failure
from controller.adapters.docker.wire import NoAnswer, Wire, documents, segment
from controller.errors import EngineUnreachable, EnvironmentFault, NotFound, SpecFault, StewardError
from controller.model.observed import Image


class DockerImages:
    """Images over the wire."""

    def __init__(self, wire: Wire) -> None:
        """Use this connection."""
        self._wire = wire

    def inspect(self, reference: str) -> Image | None:
        """The local image of this reference or id; None only when the engine says that it has none."""
        document = self._document(reference)
        return None if document is None else image_of(document)

    def pull(self, reference: str, progress: Callable[[str], None]) -> Image:
        """Fetch it, reporting progress in short sentences; raises PullFailed."""
        platform = self._wire.platform()
        try:
            self._fetch(reference, platform, progress)
        except NoAnswer as error:
            raise pull_failure(reference, str(error)) from error
        except EngineUnreachable:
            raise
        except (EnvironmentFault, NotFound, SpecFault) as error:
            raise pull_failure(reference, str(error)) from error
        return self._arrived(reference, platform)

    def _arrived(self, reference: str, platform: str) -> Image:
        """The pulled image. Older engines also take one of another platform; it goes again, or it would pass for present."""
        document = self._document(reference)
        if document is None:
            raise pull_failure(reference, "the pull ended, yet the engine has no image of this reference")
        actual = f"{document.get('Os', '')}/{document.get('Architecture', '')}"
        if actual == platform:
            return image_of(document)
        with suppress(StewardError):
            self._wire.delete(f"/images/{segment(reference)}")
        raise pull_failure(reference, f"the image does not match the specified platform: wanted {platform}, got {actual}")

    def _document(self, reference: str) -> dict[str, Any] | None:
        try:
            document: dict[str, Any] = self._wire.get(f"/images/{segment(reference)}/json")
        except NotFound:
            return None
        return document

    def _fetch(self, reference: str, platform: str, progress: Callable[[str], None]) -> None:
        repository, tag = parse_repository_tag(reference)
        params = {"fromImage": repository, "tag": tag or "latest", "platform": platform}
        bounds = self._wire.bounds
        headers = registry_header(repository, bounds.docker_read)
        layers = _Layers()
        stream = self._wire.stream(
            "POST", "/images/create", params, headers=headers, silence=bounds.pull_stall, total=bounds.pull
        )
        with stream as pieces:
            for document in documents(pieces):
                if failure := _failure(document):
                    raise EnvironmentFault(failure)
                if sentence := layers.sentence(document):
                    progress(sentence)


class _Layers:
    """Progress of all layers of one pull, summed up so that one sentence tells it."""

    def __init__(self) -> None:
        """Nothing was heard yet."""
        self._done: dict[str, tuple[int, int]] = {}
        self._last = ""

    def sentence(self, document: Mapping[str, Any]) -> str | None:
        """The sentence after one more message, or None when it would repeat the last one."""
        detail = document.get("progressDetail") or {}
        if document.get("status") == "Downloading" and detail.get("total"):
            self._done[document.get("id", "")] = (int(detail.get("current") or 0), int(detail["total"]))
        elif document.get("status") in ("Download complete", "Pull complete") and document.get("id") in self._done:
            total = self._done[document["id"]][1]
            self._done[document["id"]] = (total, total)
        elif not document.get("id") and document.get("status"):
            return self._new(str(document["status"]))
        return self._new(self._summary())

    def _summary(self) -> str:
        current, total = (sum(values) for values in zip(*self._done.values(), strict=True)) if self._done else (0, 0)
        return f"downloading {100 * current // total} % of {total / 1e6:.0f} MB in {len(self._done)} layers" if total else ""

    def _new(self, text: str) -> str | None:
        if not text or text == self._last:
            return None
        self._last = text
        return text


def _failure(document: Mapping[str, Any]) -> str | None:
    """A pull that fails midway answers 200 and says so in the stream."""
    detail = document.get("errorDetail")
    message = document.get("error") or (detail.get("message") if isinstance(detail, dict) else None)
    return str(message) if message else None
