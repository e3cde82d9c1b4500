"""One entry with its template, profile and defaults filled in: everything but the cards, which depend on the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.dialects.argv import last
from controller.dialects.dialect import Launch
from controller.model.compose import VramClaim
from controller.model.fields import SecretRef
from controller.model.parameters import Value
from controller.model.problem import Place, Problem, Severity, dotted
from controller.model.resolved import ContainerSpec, Origin, Readiness, ResolvedRig, Serving
from controller.resolve.choices import Chooser, Chosen
from controller.resolve.container import Outside, container_spec, service_origins, variables_of
from controller.resolve.draft import Draft
from controller.resolve.environment import Variable, entry_variables, merged_environment
from controller.resolve.estate import EntrySource, Estate
from controller.resolve.live import LiveSource, live_settings, state_origins
from controller.resolve.origins import COMPOSE, ESTATE, PROFILE, origin
from controller.resolve.overlay_content import PutOn
from controller.resolve.overlay_effects import (
    engine_entrypoint,
    overlay_origins,
    overlay_variables,
    with_chat_template,
    with_overlays,
)
from controller.resolve.parameters import resolved_parameters
from controller.resolve.secret_book import SecretBook
from controller.resolve.service import ENGINE
from controller.resolve.template import Template
from controller.resolve.variables import expanded
from controller.resolve.waivers import Waivers


@dataclass(frozen=True, slots=True)
class Frame:
    """What all instances of one resolution share."""

    estate: Estate
    rig: ResolvedRig
    live: LiveSource
    secrets: SecretBook
    waivers: Waivers
    simulated: bool


@dataclass(frozen=True, slots=True)
class _Choices:
    """What several files may give, decided."""

    image: Chosen[str]
    port: Chosen[int]
    names: Chosen[tuple[str, ...]]
    bind: Chosen[str]
    networks: tuple[str, ...]
    readiness: Readiness


def drafted(source: EntrySource, template: Template, overlays: tuple[PutOn, ...], frame: Frame, report: list[Problem]) -> Draft:
    """The entry, filled in; what is wrong goes into the report and a stand-in into its place."""
    template = with_chat_template(template, overlays)
    parameters, set_origins = resolved_parameters(source, template, frame.waivers, report)
    choices = _choices(Chooser(source, template, report), parameters, set_origins, frame)
    values = variables_of(source.entry.name, choices.port.value, frame.rig.paths)
    env = merged_environment((*overlay_variables(overlays), *template.parts.env), entry_variables(source, report), values)
    _check_secrets(source, env, parameters, set_origins, frame.secrets, report)
    launch = _launch(template, parameters, choices, values)
    if not frame.simulated:
        _check_complete(source, template, launch, report)
    live, live_origins = live_settings(source, frame.live, _stop_grace(template), report)
    claim = template.steward.claim
    plain = container_spec(template, _outside(source, template, choices, launch, env), values)
    dressed = with_overlays(plain, overlays, _entrypoint(template, plain, overlays, frame, report))
    return Draft(
        source=source,
        template=template,
        spec=dressed.spec,
        serving=_serving(source, template, choices, parameters),
        live=live,
        parameters=parameters,
        origins={
            **_identity_origins(source, template, choices),
            **set_origins,
            **service_origins(template, env, values),
            **overlay_origins(overlays),
            **state_origins(source),
            **live_origins,
        },
        exclusive=not source.entry.share and claim == "exclusive",
        vram_claim_bytes=claim.vram if isinstance(claim, VramClaim) else None,
        flags=last(launch),
        overlays=overlays,
        start_script=dressed.script,
    )


def _entrypoint(
    template: Template, spec: ContainerSpec, overlays: tuple[PutOn, ...], frame: Frame, report: list[Problem]
) -> tuple[str, ...]:
    """What starts the engine behind the steps of overlays; on a simulated rig it does not matter."""
    found = engine_entrypoint(template, spec, overlays)
    if not isinstance(found, Problem):
        return found
    if not frame.simulated:
        report.append(found)
    return ()


def _choices(chooser: Chooser, parameters: Mapping[str, Value], set_origins: Mapping[str, Origin], frame: Frame) -> _Choices:
    return _Choices(
        chooser.image(simulated=frame.simulated),
        chooser.container_port(parameters, set_origins),
        chooser.served_names(parameters, set_origins),
        chooser.bind(frame.estate),
        chooser.networks(),
        chooser.readiness(parameters),
    )


def _launch(template: Template, parameters: Mapping[str, Value], choices: _Choices, values: Mapping[str, str]) -> Launch:
    command = tuple(expanded(text, values) for text in template.parts.service.command)
    return Launch(parameters, choices.names.value, choices.port.value, choices.image.value, command)


def _outside(source: EntrySource, template: Template, choices: _Choices, launch: Launch, env: tuple[Variable, ...]) -> Outside:
    return Outside(
        image=choices.image.value,
        argv=template.dialect.argv(launch),
        port=source.entry.port,
        container_port=choices.port.value,
        bind=choices.bind.value,
        networks=choices.networks,
        env=env,
    )


def _serving(source: EntrySource, template: Template, choices: _Choices, parameters: Mapping[str, Value]) -> Serving:
    key = parameters.get("api_key")
    return Serving(
        dialect=template.dialect.name,
        port=source.entry.port,
        bind=choices.bind.value,
        served_names=choices.names.value,
        readiness=choices.readiness,
        api_key=key if isinstance(key, SecretRef) else None,
    )


def _stop_grace(template: Template) -> Chosen[float] | None:
    grace = template.parts.stop_grace
    return None if grace is None else Chosen(grace, template.place(*ENGINE, "stop_grace_period"), COMPOSE)


def _check_complete(source: EntrySource, template: Template, launch: Launch, report: list[Problem]) -> None:
    for name in template.dialect.missing(launch):
        if name not in source.entry.set or source.entry.set[name] is None:
            hint = f"add {name} to set" if name in template.parameters else f"the template must give {name} a value"
            report.append(
                source.problem(("set",), "parameters", f"{name} is not set, so the engine has nothing to serve", hint)
            )


def _check_secrets(
    source: EntrySource,
    env: tuple[Variable, ...],
    parameters: Mapping[str, Value],
    set_origins: Mapping[str, Origin],
    secrets: SecretBook,
    report: list[Problem],
) -> None:
    used: list[tuple[str, Value | None, Place | None]] = [(f"env.{v.name}", v.value, v.place) for v in env]
    used += [(f"set.{name}", value, set_origins[f"set.{name}"].place) for name, value in parameters.items()]
    for key, value, place in used:
        if isinstance(value, SecretRef) and (message := secrets.trouble(value.secret)):
            hint = f"write its value into the file secrets/{value.secret} of the state folder (mode 0600)"
            report.append(Problem(Severity.ERROR, "secret", message, hint, f"{dotted(source.path)}.{key}", place))


def _identity_origins(source: EntrySource, template: Template, choices: _Choices) -> dict[str, Origin]:
    entry, steward = source.entry, template.steward
    found = {
        "compose": Origin(entry.compose, source.place(("compose",)), ESTATE),
        "engine": Origin(template.profile.id, template.place("x-steward", "engine"), COMPOSE),
        "dialect": Origin(template.dialect.name.value, template.profile_document.place(("type",)), PROFILE),
    }
    if steward.model is not None:
        found["model"] = Origin(steward.model, template.place("x-steward", "model"), COMPOSE)
        found |= _weights_origin(template)
    for key in ("drafter", "workload"):
        if (value := getattr(steward, key)) is not None:
            found[key] = Origin(value, template.place("x-steward", key), COMPOSE)
    found |= {
        "image": choices.image.origin,
        "gpus": origin(entry.gpus, source.place(("gpus",)), ESTATE),
        "port": origin(entry.port, source.place(("port",)), ESTATE),
        "bind": choices.bind.origin,
        "container_port": choices.port.origin,
    }
    if choices.names.value:
        found["served_names"] = choices.names.origin
    if choices.networks:
        found["networks"] = origin(choices.networks, source.place(("networks",)), ESTATE)
    return found


def _weights_origin(template: Template) -> dict[str, Origin]:
    """The weights: the template's choice, else the model's own."""
    goods = template.ingredients
    if goods.model is None or not goods.weights_key:
        return {}
    if template.steward.weights is not None:
        return {"weights": Origin(goods.weights_id, template.place("x-steward", "weights"), COMPOSE)}
    return {"weights": Origin(goods.weights_id, goods.model.place("default_weights"), PROFILE)}
