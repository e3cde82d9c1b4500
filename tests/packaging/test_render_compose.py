"""Every template that Steward ships, rendered, is a document that Compose itself accepts and reads the way it was meant."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controller.model.document import Document
from controller.model.reading import Known
from controller.model.resolved import Resolved
from controller.model.rig import Card, RigFacts
from controller.model.snapshot import snapshot_of
from controller.resolve import Surroundings, resolve
from controller.resolve.render import render
from controller.settings import Bounds
from controller.sources.search_path import catalogue_for
from controller.sources.yaml_reader import read_document
from tests.conftest import require

pytestmark = pytest.mark.compose

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted(path.relative_to(ROOT / "composes").with_suffix("").as_posix() for path in ROOT.glob("composes/**/*.yml"))
RIG = RigFacts(Known((Card(0, "GPU-5157e3a0-0000-4000-8000-000000000000", "RTX 3090"),)))
NEEDED = {"vllm": "{model_path: qwen, api_key: {secret: my-key}}", "llamacpp": "{model_path: m, model_file: 'a b.gguf'}"}
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def compose() -> str:
    """The Compose program beside this Python, or the one in the path."""
    beside = Path(sys.executable).with_name("docker-compose")
    found = str(beside) if beside.is_file() else shutil.which("docker-compose")
    require("compose", found is not None, "no docker-compose beside Python or in the path")
    return str(found)


def rendered(template: str, extra: str = "") -> str:
    """The document of an instance of a shipped template on one card."""
    needed = NEEDED.get(template.split("/")[0], "{}")
    text = (
        f"estate: [{{name: one, compose: {template}, gpus: [0], port: 8010, image: 'registry.lan:5000/engine:1', set: {needed},"
        f" env: {{TOKEN: {{secret: hf}}, PRICE: '5$ ${{HOME}} # x', EMPTY: '', YES: 'yes'}}{extra}}}]"
    )
    estate = read_document("estate.yml", text.encode(), Bounds())
    assert isinstance(estate, Document)
    found = resolve([estate], catalogue_for(snapshot_of(()), None, Bounds()), Surroundings(RIG), "rev")
    assert isinstance(found, Resolved), found
    return render(found.instances[0], found.rig)


def configured(compose: str, text: str, folder: Path) -> dict[str, Any]:
    """What Compose makes of a document, without asking any engine."""
    file = folder / "compose.yml"
    file.write_text(text)
    command = [compose, "-f", str(file), "config", "--format", "json"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "my_key": "k", "hf": "t"}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


def test_there_are_templates() -> None:
    """Given the checkout, when its templates are listed, then they are there to be rendered."""
    assert {"llamacpp/generic", "vllm/generic", "generic/http", "simulated/default"} <= set(TEMPLATES)


@pytest.mark.parametrize("template", TEMPLATES)
def test_compose_accepts_every_template(compose: str, template: str, tmp_path: Path) -> None:
    """Given a shipped template, when it is rendered, then Compose accepts it and passes text on to the letter."""
    service = configured(compose, rendered(template), tmp_path)["services"]["engine"]
    assert service["image"] == "registry.lan:5000/engine:1"
    # Compose prints a single dollar as two, so that its output can be read again
    assert service["environment"]["PRICE"] == "5$$ $${HOME} # x"
    assert (service["environment"]["TOKEN"], service["environment"]["EMPTY"], service["environment"]["YES"]) == ("t", "", "yes")
    assert service["ports"][0]["published"] == "8010"
    assert service["ports"][0]["host_ip"] == "127.0.0.1"
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"] == [
        "GPU-5157e3a0-0000-4000-8000-000000000000"
    ]
    assert (service["init"], service["restart"]) == (True, "no")


def test_compose_joins_the_networks(compose: str, tmp_path: Path) -> None:
    """Given an extra network and a public address, when it is rendered, then Compose joins the one and binds the other."""
    document = configured(compose, rendered("generic/http", ", networks: [ui], bind: 0.0.0.0"), tmp_path)
    assert document["networks"]["ui"]["external"] is True
    assert sorted(document["services"]["engine"]["networks"]) == ["default", "ui"]
    assert document["services"]["engine"]["ports"][0]["host_ip"] == "0.0.0.0"
