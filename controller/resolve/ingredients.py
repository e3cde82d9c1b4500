"""What a template serves, as the catalogue knows it: model, weights, drafter, and the kind of use that it is meant for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.model.compose import XSteward
from controller.resolve.nearest import nearest
from controller.resolve.profiles import Filed, Namer

if TYPE_CHECKING:
    from controller.model.profile_drafter import DrafterProfile
    from controller.model.profile_model import ModelProfile, Weights
    from controller.model.profile_workload import WorkloadProfile


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What a template names; `weights_key` is the weights' key in the model's file, empty where there are none."""

    model: Filed[ModelProfile] | None = None
    weights_key: str = ""
    drafter: Filed[DrafterProfile] | None = None
    workload: Filed[WorkloadProfile] | None = None

    @property
    def weights(self) -> Weights | None:
        """The weights that are served."""
        return self.model.profile.weights.get(self.weights_key) if self.model else None

    @property
    def weights_id(self) -> str:
        """Their id in the one spelling that ids are compared in."""
        return self.weights_key.replace("-", "_")


def ingredients_of(steward: XSteward, namer: Namer) -> Ingredients:
    """Look up what the template names; the modules of profiles that it names none of are not even imported."""
    model = _model(steward, namer)
    return Ingredients(model, _weights_key(steward, namer, model), _drafter(steward, namer), _workload(steward, namer))


def _model(steward: XSteward, namer: Namer) -> Filed[ModelProfile] | None:
    if steward.model is None:
        return None
    from controller.model.profile_model import ModelProfile

    return namer.named(("x-steward", "model"), "profiles/models", steward.model, ModelProfile, "model")


def _drafter(steward: XSteward, namer: Namer) -> Filed[DrafterProfile] | None:
    if steward.drafter is None:
        return None
    from controller.model.profile_drafter import DrafterProfile

    return namer.named(("x-steward", "drafter"), "profiles/drafters", steward.drafter, DrafterProfile, "drafter")


def _workload(steward: XSteward, namer: Namer) -> Filed[WorkloadProfile] | None:
    if steward.workload is None:
        return None
    from controller.model.profile_workload import WorkloadProfile

    return namer.named(("x-steward", "workload"), "profiles/workloads", steward.workload, WorkloadProfile, "workload")


def _weights_key(steward: XSteward, namer: Namer, model: Filed[ModelProfile] | None) -> str:
    """The key of the weights that the template names, else of the model's own choice."""
    if model is None:
        if steward.weights is not None and steward.model is None:
            _fault(namer, "weights are of a model, and the template names none", "add model: ID, or remove weights")
        return ""
    profile = model.profile
    wanted = steward.weights or profile.default_weights
    if wanted is None:
        return ""
    from controller.model.profile_model import WeightsRole

    targets = [key for key, weights in profile.weights.items() if weights.role is WeightsRole.TARGET]
    key = next((key for key in profile.weights if _same(key, wanted)), None)
    if key is None:
        _fault(namer, f"model {profile.id} has no weights {wanted}", nearest(wanted, targets, "it has"))
        return ""
    if key not in targets:
        role = profile.weights[key].role
        _fault(namer, f"weights {wanted} are a {role} for {profile.id}, not the model", nearest("", targets, "it has"))
    return key


def _same(one: str, two: str) -> bool:
    return one.replace("-", "_") == two.replace("-", "_")


def _fault(namer: Namer, message: str, hint: str) -> None:
    namer.report.append(namer.document.problem(("x-steward", "weights"), namer.rule, message, hint))
