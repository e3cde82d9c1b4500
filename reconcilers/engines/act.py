"""The effects on containers, one call each. It decides nothing: the step says what to do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.errors import SpecFault
from controller.model.fields import SecretRef
from controller.model.payload import STORE
from controller.model.plan import Action, CreateRequest, Step
from controller.model.resolved import ContainerSpec, Secretive
from controller.ports import Containers, Outcome, Payloads, Secrets


@dataclass(frozen=True, slots=True)
class EngineActor:
    """Carries out container steps."""

    containers: Containers
    secrets: Secrets
    payloads: Payloads

    def act(self, step: Step) -> Outcome:
        """The effect of one step; raises what the port raises."""
        match step.action:
            case Action.CREATE if step.create is not None:
                return self._create(step.create)
            case Action.START:
                self.containers.start(step.target)
            case Action.STOP:
                self.containers.stop(step.target, step.timeout_s)
            case Action.REMOVE | Action.PRUNE:
                self.containers.remove(step.target)
            case Action.RENAME:
                self.containers.rename(step.target, step.name)
            case Action.UNPAUSE:
                self.containers.unpause(step.target)
            case Action.UPDATE:
                self.containers.reset_policy(step.target)
            case _:
                raise SpecFault(f"{step.action} is no action on a container")
        return Outcome("", container=step.target)

    def _create(self, request: CreateRequest) -> Outcome:
        env = {name: self._reveal(value) for name, value in request.spec.env}
        argv = [self._reveal(value) for value in request.spec.argv]
        container = self.containers.create(replace(request, spec=self._placed(request.spec)), env, argv)
        return Outcome(f"created {request.name}", container=container, image_id=request.image_id)

    def _placed(self, spec: ContainerSpec) -> ContainerSpec:
        """The spec with the mounts of overlays' files at their place on the host."""
        folder = self.payloads.folder
        return replace(spec, mounts=tuple(replace(m, source=m.source.replace(STORE, folder)) for m in spec.mounts))

    def _reveal(self, value: Secretive) -> str:
        return self.secrets.reveal(value.secret) if isinstance(value, SecretRef) else value
