"""`steward init`: a first estate for this machine. It only watches (`mode: observe`) until its author says otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from controller.app.files import facts_of
from controller.cli.output import print_text
from controller.errors import EnvironmentFault, UsageError
from controller.model.reading import Known
from controller.model.rig import RigFacts
from controller.settings import Settings

YAML: Final = (".yml", ".yaml")

HEAD: Final = """\
# The wanted state of this machine. Save it, and `steward run` makes the containers follow.
# `steward validate` checks it, `steward plan` shows what would be done. Completion in editors: `steward schema`.
schema_version: 1

rig:
  name: rig
  mode: observe        # plan and report only; write `auto` when the plan is what you want
  # paths: {models: /srv/models, hf_cache: /srv/hf, engine_cache: /srv/engine-cache}

"""

EXAMPLE: Final = """\
estate: []       # take this line away together with the `# ` of the lines below
# estate:
#   - name: chat                      # your name for it; also the model's name in its API unless served_names is set
#     compose: @compose@ # a container template: composes/ here, or built in
#     gpus: @gpus@ # card indices; they are bound to the cards' UUIDs once
#     port: 8010                      # on 127.0.0.1; `bind: 0.0.0.0` opens it to the network
#     set: @set@
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def run(options: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - every verb has this shape
    """Write the file; an estate that exists is never overwritten."""
    path = settings.estate if settings.estate.suffix in YAML else settings.estate / "estate.yml"
    text = _text(facts_of(settings))
    try:
        if there := _estate_files(path, settings.estate):
            raise UsageError(f"{', '.join(there)} exists already; nothing is written")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from error
    print_text(f"wrote {path}\n\nNext: uncomment and edit the entry, then `steward validate` and `steward plan`.")
    return 0


def _estate_files(path: Path, estate: Path) -> list[str]:
    """What would be joined with the new file: that file itself, and in an estate folder every other YAML file."""
    beside = path.parent.iterdir() if path.parent.is_dir() and estate == path.parent else iter([path])
    return sorted(str(p) for p in beside if p.suffix in YAML and not p.name.startswith(".") and p.exists())


def _text(facts: RigFacts) -> str:
    return HEAD + _cards_comment(facts) + _example(facts)


def _cards_comment(facts: RigFacts) -> str:
    if not isinstance(facts.cards, Known):
        return f"# Cards of this machine: not readable ({facts.cards.reason})\n\n"
    lines = [f"# Card {card.index}: {card.name}, {card.uuid}" for card in facts.cards.value]
    return "\n".join([*(lines or ["# This machine has no card."]), "", ""])


def _example(facts: RigFacts) -> str:
    count = min(2, len(facts.cards.value)) if isinstance(facts.cards, Known) else 0
    compose, parameters = "llamacpp/generic", "{model_file: your-model.gguf, max_model_len: 8192}"
    if count:
        compose = "vllm/generic"
        parameters = f"{{model_path: your-model, max_model_len: 32768, tensor_parallel_size: {count}}}"
    filled = EXAMPLE.replace("@compose@", f"{compose:<22}").replace("@gpus@", f"{list(range(count))!s:<25}")
    return filled.replace("@set@", parameters)
