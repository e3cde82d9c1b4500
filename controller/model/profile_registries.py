"""Image registries whose API is at another host than the one in an image reference."""

from __future__ import annotations

from pydantic import Field

from controller.model.fields import Document


class RegistriesFile(Document):
    """`profiles/registries.yml`: the host of the API by the host of the reference."""

    apis: dict[str, str] = Field(default_factory=dict)
