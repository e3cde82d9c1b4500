"""Measurements: how fast templates were on certain cards, as their users report it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from controller.model.fields import AsTuple, Document
from controller.model.profile_words import Amount, Count, Day, Kv

Cards = Annotated[tuple[str, ...], AsTuple, Field(min_length=1, max_length=16)]


class Measurement(Document):
    """One run of a template for one request at a time: `prose` and `code` are generated tokens a second.

    `timing` says of what: `wall` counts from the request, `decode` from the first token. `cards` are hardware profiles, one for
    each card that took part. `kv_format` is absent where the report does not say it clearly; one that is not the template's
    belongs to an earlier state of it. `source` is a place in the file that the list is drawn from.
    """

    template: str
    cards: Cards
    nvlink: bool = False
    kv_format: Kv | None = None
    context: Count
    prose: Amount | None = None
    code: Amount | None = None
    timing: Literal["wall", "decode"]
    as_of: Day
    source: str

    @model_validator(mode="after")
    def _has_a_figure(self) -> Measurement:
        if self.prose is None and self.code is None:
            raise ValueError("expected prose or code")
        return self


class MeasurementsFile(Document):
    """`profiles/measurements.yml`."""

    measurements: Annotated[tuple[Measurement, ...], AsTuple]
