"""A template with all that it extends.

Compose's own rules for `extends`, reduced to the keys that Steward knows, and Steward's rule for `x-steward`:

- `services.engine`: a scalar, `command` and `entrypoint` are replaced; `environment` and `ulimits` are merged key by key (null
  removes a variable); of `volumes` and `devices` an entry with the same path in the container is replaced, others are kept;
  `cap_add cap_drop security_opt extra_hosts tmpfs` are joined.
- `x-steward`: mappings (`requires`, `parameters` and each parameter in it) are merged key by key, lists are replaced.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Place, Problem
from controller.resolve.grafting import Graft, Node
from controller.resolve.nearest import nearest

if TYPE_CHECKING:
    from controller.ports import Catalogue

RULE: Final = "compose"
ENGINE: Final[DocPath] = ("services", "engine")
_DEPTH: Final = 8
"""Templates that one template may stand on; more is a mistake or a trap."""
_BY_TARGET: Final = frozenset({"volumes", "devices"})
_JOINED: Final = frozenset({"cap_add", "cap_drop", "security_opt", "extra_hosts", "tmpfs"})


def is_base(identifier: str) -> bool:
    """Whether an id belongs to a document that is only there to be extended: one of its names begins with `_`."""
    return any(name.startswith("_") for name in identifier.split("/"))


def whole_document(catalogue: Catalogue, identifier: str, document: Document, report: list[Problem]) -> Document | None:
    """The document with its bases merged in and its own spellings normalised; None when a base cannot be had."""
    chain = [normalised(document, report)]
    seen = [identifier]
    while (reference := _extends(document, report)) is not None:
        identifier = _base_id(seen[-1], reference)
        found = _base(catalogue, identifier, seen, document, report)
        if found is None:
            return None
        seen.append(identifier)
        document = found
        chain.append(normalised(document, report))
    whole = chain.pop()
    while chain:
        whole = _stacked(whole, chain.pop())
    return whole


def _extends(document: Document, report: list[Problem]) -> str | None:
    """The `file` of an `extends`; None without one or when it cannot be read."""
    value = _engine(document).get("extends")
    if value is None:
        return None
    path = (*ENGINE, "extends")
    if not isinstance(value, dict) or not isinstance(file := value.get("file"), str) or value.keys() - {"file", "service"}:
        report.append(document.problem(path, RULE, "expected extends: {file: other.yml, service: engine}"))
        return None
    if value.get("service", "engine") != "engine":
        report.append(document.problem((*path, "service"), RULE, "every template has the one service engine", "write engine"))
        return None
    return file


def _base_id(identifier: str, file: str) -> str:
    folder = posixpath.dirname(identifier)
    return posixpath.normpath(posixpath.join("/" + folder, file.removesuffix(".yml").removesuffix(".yaml"))).lstrip("/")


def _base(
    catalogue: Catalogue, identifier: str, seen: Sequence[str], document: Document, report: list[Problem]
) -> Document | None:
    path = (*ENGINE, "extends", "file")
    if identifier in seen:
        message = f"a circle of extends: {' -> '.join([*seen[seen.index(identifier) :], identifier])}"
        report.append(document.problem(path, RULE, message, "let the last of them extend nothing"))
        return None
    if len(seen) > _DEPTH:
        report.append(document.problem(path, RULE, f"more than {_DEPTH} templates extend each other", "shorten the chain"))
        return None
    found = catalogue.find("composes", identifier)
    if found is None:
        hint = nearest(identifier, catalogue.ids("composes"), "the catalogue has")
        report.append(document.problem(path, RULE, f"there is no template {identifier} to extend", hint))
    if isinstance(found, tuple):
        report.extend(found)
    return found if isinstance(found, Document) else None


def normalised(document: Document, report: list[Problem]) -> Document:
    """One spelling for what Compose lets one write in several ways, without `extends` and without foreign `x-` blocks."""
    if not isinstance(document.data, dict):
        return document
    top = {key: value for key, value in document.data.items() if not key.startswith("x-") or key == "x-steward"}
    places = dict(document.places)
    services = top.get("services")
    if isinstance(services, dict) and "engine" in services:
        top["services"] = {**services, "engine": _service(document, services["engine"], places, report)}
    return replace(document, data=top, places=places)


def _service(document: Document, value: Plain, places: dict[DocPath, Place], report: list[Problem]) -> Plain:
    if not isinstance(value, dict):
        return {} if value is None else value
    service = {key: item for key, item in value.items() if key not in ("extends", "env_file")}
    if "env_file" in value:
        hint = "write the variables under environment, secrets as {secret: NAME}"
        message = "env_file is not read by this version"
        report.append(document.problem((*ENGINE, "env_file"), RULE, message, hint, at_key=True))
    if isinstance(listed := service.get("environment"), list):
        service["environment"] = _environment(document, listed, places, report)
    return service


def _environment(
    document: Document, listed: list[Plain], places: dict[DocPath, Place], report: list[Problem]
) -> dict[str, Plain]:
    """`[KEY=value, ...]` as a mapping; a bare KEY would take a value of the machine, which no file shows."""
    found: dict[str, Plain] = {}
    for position, item in enumerate(listed):
        path = (*ENGINE, "environment", position)
        key, separator, value = item.partition("=") if isinstance(item, str) else ("", "", "")
        if not key or not separator:
            report.append(
                document.problem(path, RULE, "expected KEY=value", "a variable without a value is not passed through")
            )
        else:
            found[key] = value
            places[(*ENGINE, "environment", key)] = document.place(path)
    return found


def _stacked(base: Document, over: Document) -> Document:
    graft = Graft(_lists)
    data = graft.merge((base, (), base.data), (over, (), over.data), ())
    return Document(over.file, data, f"{base.digest}+{over.digest}", graft.places, graft.keys, graft.written)


def _lists(path: DocPath, base: list[Node], over: list[Node]) -> list[Node]:
    key = path[-1] if path[:2] == ENGINE and len(path) == 3 else ""
    if key in _JOINED:
        return base + [node for node in over if all(node[2] != other[2] for other in base)]
    if key in _BY_TARGET:
        replaced = {_target(node) for node in over}
        return [node for node in base if _target(node) not in replaced] + over
    return over


def _target(node: Node) -> str:
    parts = node[2].split(":") if isinstance(node[2], str) else [""]
    return parts[1] if len(parts) > 1 else parts[0]


def _engine(document: Document) -> dict[str, Plain]:
    services = document.data.get("services") if isinstance(document.data, dict) else None
    engine = services.get("engine") if isinstance(services, dict) else None
    return engine if isinstance(engine, dict) else {}
