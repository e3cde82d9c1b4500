"""Parameters that follow from what a template names, so that a template does not repeat what its profiles say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from controller.model.compose import XSteward
from controller.model.document import Document
from controller.model.profile import DialectName
from controller.model.profile_words import DrafterMethod
from controller.resolve.ingredients import Ingredients
from controller.resolve.origins import COMPOSE, PROFILE

_PARALLEL: Final = {"tensor_parallel_size": "tp", "pipeline_parallel_size": "pp"}
"""Parameters whose value `x-steward.requires` states."""
_METHODS: Final[Mapping[DrafterMethod, str]] = {DrafterMethod.MTP_ASSISTANT: "mtp", DrafterMethod.MTP_GGUF: "mtp"}
"""Methods that engines call otherwise."""
_NOT_THE_MODEL: Final = ("mtp-", "mmproj")
"""Beginnings of the names of files that lie beside a model: drafters and projectors."""


@dataclass(frozen=True, slots=True)
class Derived:
    """One value; `path` is its place in `document`, `source` the kind of that document."""

    name: str
    value: str | int
    document: Document
    path: tuple[str | int, ...]
    source: str


def derived_values(document: Document, steward: XSteward, goods: Ingredients, spoken: DialectName) -> Iterator[Derived]:
    """The defaults of a template's parameters where the template itself gives none."""
    for name, key in _PARALLEL.items():
        if key in steward.requires.model_fields_set:
            yield Derived(name, getattr(steward.requires, key), document, ("x-steward", "requires", key), COMPOSE)
    yield from _of_weights(goods, spoken)
    if (drafter := goods.drafter) is not None:
        method = drafter.profile.method
        yield Derived("spec_method", _METHODS.get(method, method.value), drafter.document, ("method",), PROFILE)
        yield Derived("spec_tokens", drafter.profile.tokens_default, drafter.document, ("tokens_default",), PROFILE)


def _of_weights(goods: Ingredients, spoken: DialectName) -> Iterator[Derived]:
    model, weights = goods.model, goods.weights
    if model is None or weights is None:
        return
    at = ("weights", goods.weights_key)
    if weights.directory is not None:
        yield Derived("model_path", weights.directory, model.document, (*at, "directory"), PROFILE)
    if spoken is not DialectName.LLAMACPP:
        return
    for position, file in enumerate(weights.files):
        if not file.startswith(_NOT_THE_MODEL):
            yield Derived("model_file", file, model.document, (*at, "files", position), PROFILE)
            return
