"""Estates and catalogues as text, for tests of the resolver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.model.document import Document
from controller.model.problem import Problem, Severity
from controller.model.reading import Known, Unknown
from controller.model.resolved import Resolved, ResolvedInstance
from controller.model.rig import Card, RigFacts
from controller.resolve import Surroundings, resolve
from controller.settings import Bounds
from controller.sources.yaml_reader import read_document

ENGINE_PROFILES = {
    "profiles/engines/vllm": "id: vllm\ntype: vllm\nimage: vllm/vllm-openai:v0.20.0\n",
    "profiles/engines/llama": "id: llama\ntype: llama.cpp\nimage: llama:1\ncpu: true\ncontainer_port: 8080\n",
    "profiles/engines/other": "id: other\ntype: generic\nimage: null\ncpu: true\n",
}
TEMPLATES = {
    "composes/vllm/any": """
x-steward:
  engine: vllm
  parameters:
    model_path: {}
    tensor_parallel_size: {default: 1}
    max_model_len: {default: 8192, max: 32768}
    max_num_seqs: {default: 4}
    gpu_memory_utilization: {min: 0.5, max: 0.9}
    api_key: {}
services:
  engine:
    shm_size: 16gb
    environment: {CACHE: "/cache/${STEWARD_INSTANCE}", LEVEL: 2, PRICE: 5$$}
    volumes: ["${STEWARD_MODELS}:/models:ro", "${STEWARD_ENGINE_CACHE}/v:/root/.cache/steward"]
    command: [--seed, "1"]
""",
    "composes/llama/any": """
x-steward: {engine: llama, parameters: {model_file: {}, max_model_len: {default: 4096}}}
services: {engine: {}}
""",
    "composes/other/web": """
x-steward:
  engine: other
  readiness: {http: /up}
  parameters: {ready_path: {}, container_port: {default: 7000}}
services: {engine: {}}
""",
}
HARDWARE_PROFILES = {
    "profiles/hardware/rtx-3090": """
id: rtx-3090
name: NVIDIA GeForce RTX 3090
names: [RTX 3090]
memory_gib: 24
usable_gib: 23.56
compute_capability: 8.6
nvlink: true
""",
}
CATALOGUE = {**ENGINE_PROFILES, **TEMPLATES, **HARDWARE_PROFILES}


@dataclass(frozen=True, slots=True)
class Shelf:
    """A catalogue of YAML texts by `kind/id`."""

    texts: Mapping[str, str] = field(default_factory=lambda: CATALOGUE)

    def find(self, kind: str, identifier: str) -> Document | tuple[Problem, ...] | None:
        """The document, read anew each time."""
        text = self.texts.get(f"{kind}/{identifier}")
        return None if text is None else read_document(f"{kind}/{identifier}.yml", text.encode(), Bounds())

    def ids(self, kind: str) -> tuple[str, ...]:
        """Every id of a kind."""
        return tuple(sorted(key.removeprefix(f"{kind}/") for key in self.texts if key.startswith(f"{kind}/")))


def cards(count: int, *, nvlink: tuple[tuple[int, int], ...] = (), names: tuple[str, ...] = ()) -> RigFacts:
    """A rig with this many cards, `GPU-0000` and so on, all of one model unless `names` says otherwise."""
    named, total = names or ("RTX 3090",) * count, Known(int(23.56 * 2**30))
    made = (Card(i, f"GPU-000{i}", named[i], total, compute_capability=Known(8.6)) for i in range(count))
    return RigFacts(Known(tuple(made)), nvlink)


NO_CARDS_READ = RigFacts(Unknown("NVML is not loaded"))
TWO_CARDS = cards(2)


def document(text: str, file: str = "desired/estate.yml") -> Document:
    """An estate file that is valid YAML."""
    found = read_document(file, text.encode(), Bounds())
    assert isinstance(found, Document), found
    return found


def outcome(
    *texts: str, around: Surroundings | None = None, catalogue: Mapping[str, str] | None = None
) -> Resolved | tuple[Problem, ...]:
    """What becomes of the estate files `desired/0.yml`, `desired/1.yml` and so on (`desired/estate.yml` when it is one)."""
    files = ["desired/estate.yml"] if len(texts) == 1 else [f"desired/{i}.yml" for i in range(len(texts))]
    documents = [document(text, file) for text, file in zip(texts, files, strict=True)]
    return resolve(documents, Shelf(catalogue or CATALOGUE), around or Surroundings(TWO_CARDS), "rev1")


def resolved(*texts: str, around: Surroundings | None = None, catalogue: Mapping[str, str] | None = None) -> Resolved:
    """The resolved estate; fails with the problems of an invalid one."""
    found = outcome(*texts, around=around, catalogue=catalogue)
    assert isinstance(found, Resolved), shown(found)
    return found


def problems(
    *texts: str, around: Surroundings | None = None, catalogue: Mapping[str, str] | None = None
) -> tuple[Problem, ...]:
    """The problems of an invalid estate, without mere notes; fails when it is valid."""
    found = outcome(*texts, around=around, catalogue=catalogue)
    assert not isinstance(found, Resolved), "the estate was accepted"
    return grave(found)


def grave(found: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Errors and warnings."""
    return tuple(problem for problem in found if problem.severity is not Severity.INFO)


def one(entry: str, around: Surroundings | None = None, catalogue: Mapping[str, str] | None = None) -> ResolvedInstance:
    """The only instance of an estate, given as a flow mapping without its braces."""
    return resolved(f"estate: [{{{entry}}}]", around=around, catalogue=catalogue).instances[0]


def errors_of(entry: str, around: Surroundings | None = None, catalogue: Mapping[str, str] | None = None) -> list[str]:
    """The errors of an estate with one entry, as `path rule: message | hint`."""
    return shown(problems(f"estate: [{{{entry}}}]", around=around, catalogue=catalogue))


def shown(found: tuple[Problem, ...], severity: Severity | None = Severity.ERROR) -> list[str]:
    """Problems in short; those of one severity, or all."""
    return [f"{p.path} {p.rule}: {p.message} | {p.hint}" for p in found if severity in (None, p.severity)]


def places(found: tuple[Problem, ...]) -> list[str]:
    """Where each problem stands."""
    return [str(problem.place) for problem in found]
