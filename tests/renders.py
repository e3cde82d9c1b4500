"""The Compose documents of some templates, whole. `python -m tests.renders` writes them anew; read the difference by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from controller.model.resolved import Resolved
from controller.resolve.render import render
from tests.unit.templates import alone

FOLDER: Final = Path(__file__).parent / "unit" / "golden" / "renders"
TEMPLATES: Final = (
    "vllm/dual",
    "vllm/default",
    "vllm/gemma-mtp",
    "vllm/dual-nvlink-turbo",
    "vllm/qwen-27b-single-nvfp4",
    "llamacpp/tess-dual-mtp",
    "llamacpp/concurrent",
    "historical/vllm/minimal",
)
"""One of each kind: living and older, overlays of every mechanism, drafters built in and external, GGUF."""


def file_of(template: str) -> Path:
    """Where the document of a template is kept."""
    return FOLDER / f"{template.replace('/', '-')}.yml"


def document(template: str) -> str:
    """What `steward render` prints for one instance of the template."""
    found = alone(template)
    assert isinstance(found, Resolved), found
    return render(found.instances[0], found.rig, "/srv/overlays")


def main() -> None:
    """Write all of them."""
    for template in TEMPLATES:
        file_of(template).write_text(document(template))


if __name__ == "__main__":
    main()
