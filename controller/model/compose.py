"""The container template: a Compose file with the one service `engine` and an `x-steward` block."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, StrictFloat, StrictInt

from controller.model.desired import Scalar
from controller.model.fields import AsTuple, ByteSize, Document, Port, SecretRef, Texts

STEWARDS_OWN: Final = frozenset(
    {"ports", "restart", "container_name", "networks", "deploy", "init", "logging", "labels", "healthcheck"}
)
"""Service keys that Steward sets itself; a template that has one is told so."""


class Requires(Document):
    """What the template needs from the rig.

    `compute_capability` is needed for the weights' own kernels; cards from `fallback_compute_capability` on do without them, by
    kernels that unpack the weights first. `min_vram_gib` is each card's nominal memory in GiB. `contiguous`: the cards' indices
    follow each other.
    """

    gpus: Annotated[int, Field(ge=0, le=16)] | None = None
    tp: Annotated[int, Field(ge=1, le=16)] = 1
    pp: Annotated[int, Field(ge=1, le=16)] = 1
    nvlink: bool = False
    contiguous: bool = False
    compute_capability: StrictFloat | StrictInt | None = None
    fallback_compute_capability: StrictFloat | StrictInt | None = None
    min_vram_gib: StrictFloat | StrictInt | None = None
    features: Texts = ()


class ParameterUse(Document):
    """A parameter that `set` may touch here, with this template's default and tighter bounds."""

    default: Any = None
    min: StrictInt | StrictFloat | None = None
    max: StrictInt | StrictFloat | None = None


class VramClaim(Document):
    """The part of a card that a generic tenant takes."""

    vram: ByteSize


class HttpReadiness(Document):
    """Ready when this path answers 200."""

    http: str


class XSteward(Document):
    """What Steward knows about the template. `suggested_port` is the one that an entry made for it begins with."""

    engine: str
    model: str | None = None
    weights: str | None = None
    drafter: str | None = None
    workload: str | None = None
    served_name: str | None = None
    requires: Requires = Requires()
    overlays: Texts = ()
    parameters: dict[str, ParameterUse] = Field(default_factory=dict)
    status: Literal["production", "production_with_caveats", "preview", "experimental", "blocked"] = "production"
    note: str = ""
    suggested_port: Port | None = None
    readiness: HttpReadiness | Literal["tcp", "none"] | None = None
    claim: Literal["exclusive"] | VramClaim = "exclusive"
    container_port: Annotated[int, Field(ge=1, le=65535)] | None = None


class Ulimit(Document):
    """Soft and hard limit of one resource."""

    soft: int
    hard: int


class Service(Document):
    """The service `engine`: what of Compose reaches the container."""

    image: str | None = None
    command: Texts = ()
    entrypoint: Texts | None = None
    environment: dict[str, Scalar | SecretRef | None] | Texts = Field(default_factory=dict)
    volumes: Texts = ()
    shm_size: str | StrictInt | None = None
    ipc: str | None = None
    user: str | None = None
    ulimits: dict[str, StrictInt | Ulimit] = Field(default_factory=dict)
    cap_add: Texts = ()
    cap_drop: Texts = ()
    devices: Texts = ()
    tmpfs: Texts = ()
    working_dir: str | None = None
    extra_hosts: Texts = ()
    security_opt: Texts = ()
    read_only: bool = False
    mem_limit: str | StrictInt | None = None
    cpus: StrictFloat | StrictInt | None = None
    stop_grace_period: str | None = None


class Services(Document):
    """Exactly one service, named `engine`."""

    engine: Service = Service()


class ComposeFile(Document):
    """A whole template after its `extends` was followed."""

    x_steward: XSteward = Field(alias="x-steward")
    services: Services = Services()


__all__ = [
    "STEWARDS_OWN",
    "AsTuple",
    "ComposeFile",
    "ParameterUse",
    "Requires",
    "Service",
    "VramClaim",
    "XSteward",
]
