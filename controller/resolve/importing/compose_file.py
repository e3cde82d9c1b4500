"""Plain Compose files of engines: each service that starts one becomes an instance of the engine type's own template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from controller.dialects.flag_groups import Group, Understood
from controller.dialects.flag_reading import READERS
from controller.model.document import Document, Plain, scalar_text
from controller.model.parameters import PARAMETERS, Checked, check_value
from controller.model.problem import DocPath
from controller.model.profile import DialectName
from controller.resolve.compose_values import compose_bytes
from controller.resolve.importing.cards_and_ports import VISIBLE, cards_of, published
from controller.resolve.importing.drafting import DraftEntry, DraftEstate, Host, Ledger
from controller.resolve.importing.engine_command import EngineCommand, engine_of
from controller.resolve.importing.mounts import MODELS, Models, Volume, is_cache, is_hf_cache, models_in, volumes_of
from controller.resolve.importing.variables import Interpolation
from controller.resolve.profiles import Profiles
from controller.resolve.suggesting import instance_name
from controller.resolve.template import Template, read_template

TEMPLATES: Final[Mapping[DialectName, str]] = {
    DialectName.VLLM: "vllm/generic",
    DialectName.LLAMACPP: "llamacpp/generic",
    DialectName.SGLANG: "sglang/generic",
}
_PORTS: Final[Mapping[DialectName, int]] = {DialectName.VLLM: 8000, DialectName.LLAMACPP: 8080, DialectName.SGLANG: 30000}
"""Where each engine listens unless it is told otherwise."""
_READ: Final = frozenset({"image", "command", "entrypoint", "volumes", "ports", "environment", "deploy", "gpus", "runtime"})
_STEWARDS: Final = frozenset(
    {
        "container_name", "healthcheck", "init", "labels", "logging", "network_mode", "profiles", "pull_policy", "restart",
        "stdin_open", "tty",
    }
)  # fmt: skip
"""Keys whose work Steward does itself, or that mean nothing for a container that it makes."""
_SECRET: Final = re.compile(r".*(?:TOKEN|SECRET|PASSWORD|API_?KEY)$", re.IGNORECASE)
_OWN: Final = "a template of your own, in composes/ beside the estate, can have it"
_PARALLEL: Final = ("tensor_parallel_size", "pipeline_parallel_size")
_TOKENS: Final = frozenset({"--hf-token", "-hft"})
_TEMPLATES_OWN: Final = ("NVIDIA_DRIVER_CAPABILITIES",)


def compose_file(document: Document, profiles: Profiles, filler: Interpolation, host: Host, ledger: Ledger) -> DraftEstate:
    """An instance for every service that starts an engine; every other one is told."""
    estate = DraftEstate()
    data = document.data if isinstance(document.data, dict) else {}
    services = data.get("services")
    for name, written in services.items() if isinstance(services, dict) else ():
        at: DocPath = ("services", name)
        filled = filler.filled(document, at, written)
        service = filled if isinstance(filled, dict) else {}
        engine = engine_of(document, at, service, ledger)
        template = read_template(TEMPLATES[engine.dialect], profiles).template if engine else None
        if engine is None or template is None:
            hint = "generic/http can run any other server"
            ledger.lost(document.key_place(at), f"service {name} starts no engine that Steward knows", hint)
            continue
        reader = _Service(document, at, service, engine, template, ledger)
        estate.entries.append(reader.entry(str(name), estate, host))
    return estate


@dataclass(frozen=True, slots=True)
class _Service:
    """One service with what it starts."""

    document: Document
    at: DocPath
    service: dict[str, Plain]
    engine: EngineCommand
    template: Template
    ledger: Ledger

    def entry(self, name: str, estate: DraftEstate, host: Host) -> DraftEntry:
        """The instance."""
        volumes = list(volumes_of(self.document, (*self.at, "volumes"), self.service.get("volumes"), host, self.ledger))
        models = self._folders(volumes, estate)
        said = READERS[self.engine.dialect](self.engine.words, models.locate if models else lambda _: None)
        entry = DraftEntry({"name": _free(instance_name(name), estate)}, self.document.key_place(self.at))
        entry.keys["compose"] = self.template.identifier
        entry.keys["gpus"], look = cards_of(self.service, self._environment(), _parallel(said))
        if look:
            entry.explain("gpus", look)
        self._port(entry, said)
        self._image(entry)
        self._names(entry, said)
        self._parameters(entry, said, models)
        self._variables(entry)
        self._others()
        return entry

    def _folders(self, volumes: list[Volume], estate: DraftEstate) -> Models | None:
        """The folders that all instances share; mounts that are none of them are told."""
        models = models_in(volumes, self.engine.words)
        for volume in volumes:
            if models is not None and volume == models.volume:
                self._share(estate, "models", models.folder, volume)
            elif is_hf_cache(volume):
                self._share(estate, "hf_cache", volume.source.removesuffix("/hub"), volume)
            elif not is_cache(volume):
                self.ledger.lost(volume.place, f"the mount of {volume.source} at {volume.target}", _OWN)
        return models

    def _share(self, estate: DraftEstate, key: str, folder: str, volume: Volume) -> None:
        if estate.paths.setdefault(key, folder) != folder:
            message = f"rig.paths.{key} is {estate.paths[key]} for all instances, and this one has {folder}"
            self.ledger.lost(volume.place, message, "move or link the files into one folder")

    def _environment(self) -> dict[str, Plain]:
        written = self.service.get("environment")
        if isinstance(written, dict):
            return written
        pairs = (item.partition("=") for item in written if isinstance(item, str)) if isinstance(written, list) else ()
        return {name: value if equals else None for name, equals, value in pairs}

    def _port(self, entry: DraftEntry, said: Understood) -> None:
        inside = said.port or _PORTS[self.engine.dialect]
        found = published(self.document, (*self.at, "ports"), self.service.get("ports"), inside, self.ledger)
        entry.keys["port"] = found.port if found else inside
        if found is not None and found.bind != "127.0.0.1":
            entry.keys["bind"] = found.bind
            entry.explain("bind", "As in the file; without this line only this machine reaches it.")
        elif found is None and self.service.get("network_mode") == "host":
            entry.keys |= {"bind": said.host} if said.host not in (None, "127.0.0.1", "localhost") else {}
        elif found is None:
            entry.explain("port", "LOOK: the file publishes no port of the engine; this is the one inside its container.")

    def _image(self, entry: DraftEntry) -> None:
        image = self.service.get("image")
        if isinstance(image, str):
            entry.keys["image"] = image

    def _names(self, entry: DraftEntry, said: Understood) -> None:
        """The names that clients use; without a flag vLLM and SGLang serve under the text that names the model."""
        if said.served_names:
            entry.keys["served_names"] = list(said.served_names)
        elif said.model is not None and self.engine.dialect is not DialectName.LLAMACPP:
            entry.keys["served_names"] = [said.model]
            entry.explain("served_names", "The file gives it no name, so that clients know the model by this one.")

    def _parameters(self, entry: DraftEntry, said: Understood, models: Models | None) -> None:
        rest = [group for group in said.rest if not self._tells_a_secret(group)]
        for name in (name for name in PARAMETERS if name in said.parameters):
            value = said.parameters[name]
            declared = self.template.parameters.get(name)
            checked = check_value(name, value)
            if (
                not isinstance(checked, Checked)
                or declared is None
                or not declared.settable
                or declared.bound_fault(checked.value)
            ):
                self.ledger.lost(said.places[name], f"{name} {value} cannot be set on {self.template.identifier}")
            else:
                entry.set(name, value)
        self._look_at_defaults(entry, said)
        if said.api_key is not None:
            entry.set("api_key", {"secret": "api-key"}, "Its value belongs into the file secrets/api-key of the state folder.")
            hint = "write the value into the file secrets/api-key of the state folder (mode 0600)"
            self.ledger.changed(said.api_key, "the api key becomes the secret api-key", hint)
        if rest:
            words = [self._moved(text, models) for group in rest for text in _texts(group)]
            entry.set("extra_args", list(words), "Flags that no parameter stands for.")

    def _look_at_defaults(self, entry: DraftEntry, said: Understood) -> None:
        """What the file leaves to the engine has a value in the template."""
        left = {name: one.default for name, one in self.template.parameters.items() if name not in said.parameters}
        given = [f"{name} {value}" for name, value in left.items() if value is not None and name not in _PARALLEL]
        if given:
            text = f"the file leaves to the engine what the template sets: {', '.join(given)}"
            entry.explain("compose", f"LOOK: {text}.")
            self.ledger.changed(entry.place, text)

    def _tells_a_secret(self, group: Group) -> bool:
        """A token among the flags is left behind: what an estate says, everybody reads."""
        if group.flag not in _TOKENS:
            return False
        self.ledger.lost(group.words[0].place, f"{group.flag} with its token", "write env: {HF_TOKEN: {secret: hf-token}}")
        return True

    def _moved(self, text: str, models: Models | None) -> str:
        """A path into the models as templates have it."""
        head, equals, tail = text.partition("=") if text.startswith("-") else ("", "", text)
        found = models.locate(tail) if models and tail.startswith("/") else None
        return text if found is None else f"{head}{equals}{MODELS}/{found}"

    def _variables(self, entry: DraftEntry) -> None:
        own = {variable.name: variable.value for variable in self.template.parts.env}
        for name, value in self._environment().items():
            place = self.document.place((*self.at, "environment", name))
            if name in (*VISIBLE, *_TEMPLATES_OWN):
                continue
            if value is None or isinstance(value, list | dict) or value == "":
                self.ledger.lost(place, f"variable {name} has no value in the file")
            elif _SECRET.fullmatch(name):
                secret = name.lower().replace("_", "-")
                entry.env(name, {"secret": secret}, f"Its value belongs into the file secrets/{secret} of the state folder.")
                hint = f"write the value into the file secrets/{secret} of the state folder (mode 0600)"
                self.ledger.changed(place, f"{name} becomes the secret {secret}", hint)
            elif own.get(name) != scalar_text(value):
                entry.env(name, value)

    def _others(self) -> None:
        """Keys that an entry cannot say."""
        for key, value in self.service.items():
            if key not in _READ | _STEWARDS and not self._template_has(key, value):
                self.ledger.lost(self.document.key_place((*self.at, key)), f"{key} of the service", _OWN)

    def _template_has(self, key: str, value: Plain) -> bool:
        """Whether the template says the same."""
        parts = self.template.parts
        if key == "shm_size":
            return parts.shm_bytes is not None and _bytes(value) in range(parts.shm_bytes + 1)
        return key == "ipc" and parts.service.ipc == value


def _texts(group: Group) -> Iterator[str]:
    yield from (word.text for word in group.words)


def _bytes(value: Plain) -> int:
    try:
        return compose_bytes(value)
    except ValueError:
        return -1


def _parallel(said: Understood) -> int:
    sizes = [said.parameters.get(name, 1) for name in _PARALLEL]
    tensor, pipeline = (size if isinstance(size, int) else 1 for size in sizes)
    return max(tensor * pipeline, 1)


def _free(name: str, estate: DraftEstate) -> str:
    taken = {entry.keys["name"] for entry in estate.entries}
    return next(one for number in range(1, len(taken) + 2) if (one := name if number == 1 else f"{name}-{number}") not in taken)
