"""Fetching images, with the latest sentence of progress for whoever looks."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.model.plan import Step
from controller.ports import Images, Outcome


@dataclass(frozen=True, slots=True)
class ArtifactActor:
    """Carries out pulls; `progress` is keyed by image reference and read from other threads."""

    images: Images
    progress: dict[str, str] = field(default_factory=dict)

    def pull(self, step: Step) -> Outcome:
        """Fetch the image of the step; raises PullFailed."""
        reference = step.target

        def report(sentence: str) -> None:
            self.progress[reference] = sentence

        report(f"pulling {reference}")
        try:
            image = self.images.pull(reference, report)
        finally:
            self.progress.pop(reference, None)
        return Outcome(f"pulled {reference} ({image.size_bytes / 2**30:.1f} GiB)", image_id=image.id)
