"""Bringing images and files of overlays, with the latest sentence of progress for whoever looks."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.model.plan import Step
from controller.ports import Images, Outcome, Payloads


@dataclass(frozen=True, slots=True)
class ArtifactActor:
    """Carries out pulls; `progress` is keyed by image reference and read from other threads."""

    images: Images
    payloads: Payloads
    progress: dict[str, str] = field(default_factory=dict)

    def pull(self, step: Step) -> Outcome:
        """Bring what the step is about; raises PullFailed, or an EnvironmentFault of the disk."""
        if step.need is not None and step.need.payload is not None:
            self.payloads.put(step.need.payload)
            return Outcome(f"the files of overlay {step.need.name} are in place")
        return self._image(step)

    def _image(self, step: Step) -> Outcome:
        reference = step.target

        def report(sentence: str) -> None:
            self.progress[reference] = sentence

        report(f"pulling {reference}")
        try:
            image = self.images.pull(reference, report)
        finally:
            self.progress.pop(reference, None)
        return Outcome(f"pulled {reference} ({image.size_bytes / 2**30:.1f} GiB)", image_id=image.id)
