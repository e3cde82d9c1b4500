"""`steward init`: a first estate for this machine. It only watches (`mode: observe`) until its author says otherwise."""

from __future__ import annotations

import argparse

from controller.app.files import facts_of
from controller.cli.output import print_text
from controller.errors import UsageError
from controller.model.reading import Known
from controller.model.rig import RigFacts
from controller.settings import Settings

HEAD = """\
# The wanted state of this machine. Save it, and `steward run` makes the containers follow.
# `steward validate` checks it, `steward plan` shows what would be done. Completion in editors: `steward schema`.
schema_version: 1

rig:
  name: rig
  mode: observe        # plan and report only; write `auto` when the plan is what you want
  # paths: {models: /srv/models, hf_cache: /srv/hf, engine_cache: /srv/engine-cache}

"""

EXAMPLE = """\
estate: []
# estate:
#   - name: chat                      # your name for it; also the model's name in its API unless served_names is set
#     compose: {compose:<22} # a container template: composes/ here, or built in
#     gpus: {gpus:<25} # card indices; they are bound to the cards' UUIDs once
#     port: 8010                      # on 127.0.0.1; `bind: 0.0.0.0` opens it to the network
#     set: {set}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def run(options: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - every verb has this shape
    """Write the file; an estate that exists is never overwritten."""
    path = settings.estate if settings.estate.suffix in (".yml", ".yaml") else settings.estate / "estate.yml"
    if path.exists():
        raise UsageError(f"{path} exists already; it is left as it is")
    facts = facts_of(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(HEAD + _cards_comment(facts) + _example(facts))
    print_text(f"wrote {path}\n\nNext: uncomment and edit the entry, then `steward validate` and `steward plan`.")
    return 0


def _cards_comment(facts: RigFacts) -> str:
    if not isinstance(facts.cards, Known):
        return f"# Cards of this machine: not readable ({facts.cards.reason})\n\n"
    lines = [f"#   {card.index}: {card.name}  {card.uuid}" for card in facts.cards.value]
    return "\n".join(["# Cards of this machine:", *(lines or ["#   none"]), "", ""])


def _example(facts: RigFacts) -> str:
    count = len(facts.cards.value) if isinstance(facts.cards, Known) else 0
    if count == 0:
        return (
            EXAMPLE.replace("{compose:<22}", f"{'llamacpp/generic':<22}")
            .replace("{gpus:<25}", f"{'[]':<25}")
            .replace("{set}", "{model_file: your-model.gguf, max_model_len: 8192}")
        )
    gpus = str(list(range(min(count, 2))))
    return (
        EXAMPLE.replace("{compose:<22}", f"{'vllm/generic':<22}")
        .replace("{gpus:<25}", f"{gpus:<25}")
        .replace("{set}", f"{{model_path: your-model, max_model_len: 32768, tensor_parallel_size: {min(count, 2)}}}")
    )
