"""Containers of a simulated engine, for the tests of everything that looks at them."""

from __future__ import annotations

from controller.model.identity import Identity
from controller.model.plan import CreateRequest
from controller.model.profile import DialectName
from controller.model.resolved import ContainerSpec, Serving
from controller.ports import ProbeTarget
from controller.simulation.container_engine import SimulatedEngine


def started(
    engine: SimulatedEngine,
    name: str = "chat",
    *,
    port: int = 8010,
    dialect: DialectName = DialectName.SIMULATED,
    argv: tuple[str, ...] = (),
    **spec: tuple[str, ...],
) -> str:
    """A started container of an instance, which serves under its name."""
    wanted = ContainerSpec(image="x:1", argv=(), port=port, container_port=8000, **spec)  # type: ignore[arg-type]
    identity = Identity("rig", name, "0123456789abcdef", 1)
    request = CreateRequest(identity, identity.container_name(), wanted, dialect=dialect)
    made = engine.create(request, {}, ["--served-model-name", name, *argv])
    engine.start(made)
    return made


def target(container: str, *, completion: bool = True, dialect: DialectName = DialectName.SIMULATED) -> ProbeTarget:
    """A probe of a container."""
    serving = Serving(dialect, 8010, served_names=("chat",))
    return ProbeTarget(container, serving, 3.0, 10.0, want_completion=completion)
