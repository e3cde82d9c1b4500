"""Whether a template is good for a kind of use: because it was made for it, or because it has what that asks for."""

from __future__ import annotations

from typing import Final

from controller.model.profile import DialectName
from controller.model.profile_workload import WorkloadProfile
from controller.resolve.template import Template

_TEXT_ONLY: Final = "--language-model-only"
_PROJECTOR: Final = "--mmproj"


def suits(template: Template, workload: WorkloadProfile) -> bool:
    """Whether its model and its settings do what the workload needs."""
    if template.steward.workload == workload.id:
        return True
    needs = workload.priorities
    return all(
        (
            _default(template, "max_num_seqs", 1) >= workload.defaults.max_num_seqs,
            needs.vision != "required" or takes_images(template),
            needs.tools != "required" or _has_default(template, "tool_call_parser"),
            all(template.profile.features.get(feature) for feature in workload.required_features),
        )
    )


def takes_images(template: Template) -> bool:
    """Whether the model sees and is started in a way that lets it."""
    model, command = template.ingredients.model, template.parts.service.command
    if model is None or not model.profile.vision or _TEXT_ONLY in command:
        return False
    if template.dialect.name is not DialectName.LLAMACPP:
        return True
    return _PROJECTOR in command or _has_default(template, "mmproj_file")


def _has_default(template: Template, name: str) -> bool:
    declared = template.parameters.get(name)
    return declared is not None and declared.default is not None


def _default(template: Template, name: str, otherwise: int) -> int:
    declared = template.parameters.get(name)
    return declared.default if declared is not None and isinstance(declared.default, int) else otherwise
