"""The built-in inserts, run as a container runs them: they insert once, at their anchors, and refuse what they do not know."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.profiles import ROOT
from tests.unit.test_overlay_records import RECORDS

FOLDER = ROOT / "overlays"
MAX_TOKENS = '''\
"""Größe."""


def get_max_tokens(
    max_model_len: int,
    max_tokens: int | None,
    input_length: int,
    default_sampling_params: dict,
    override_max_tokens: int | None = None,
) -> int:
    if max_model_len < input_length:
        raise ValueError("too long")
    return min(x for x in (max_model_len - input_length, max_tokens, override_max_tokens) if x is not None)
'''
GEMMA = """\
class Gemma4ForCausalLM:
    def load_weights(self, weights):
        def _weight_iterator():
            for name, weight in weights:
                if "moe.gate_up_proj" in name and weight.dim() == 3:
                    yield "plain", weight
                    continue
                yield name, weight

        return list(_weight_iterator())
"""


def insert(script: str, target: Path) -> subprocess.CompletedProcess[str]:
    """Run one of the scripts on a file."""
    command = [sys.executable, "-B", str(FOLDER / "insert" / script), str(target)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def module(path: Path) -> ModuleType:
    """A patched file as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def utils(tmp_path: Path) -> Path:
    """The file of a build before the change."""
    path = tmp_path / "utils.py"
    path.write_text(MAX_TOKENS)
    path.chmod(0o640)
    return path


def test_a_truncated_prompt_counts_as_what_is_left_of_it(utils: Path) -> None:
    """Given a build without the argument, when it is patched, even twice, then the shorter prompt counts, and -1 is all."""
    assert insert("truncate_prompt_tokens.py", utils).returncode == 0
    patched = utils.read_text()
    count = module(utils).get_max_tokens
    assert count(100, None, 90, {}) == 10
    assert count(100, None, 90, {}, truncate_prompt_tokens=20) == 80
    assert count(100, None, 200, {}, truncate_prompt_tokens=-1) == 0
    assert insert("truncate_prompt_tokens.py", utils).returncode == 0
    assert utils.read_text() == patched
    assert utils.stat().st_mode & 0o777 == 0o640
    assert str(RECORDS["vllm-pr41800-truncate-prompt-tokens"].sentinel) in patched


def test_a_build_that_has_the_change_is_only_marked(utils: Path) -> None:
    """Given a build with the argument, when the script runs, then the code is as before and carries the sentinel."""
    own = MAX_TOKENS.replace("int | None = None,\n)", "int | None = None,\n    truncate_prompt_tokens: int | None = None,\n)")
    utils.write_text(own)
    assert insert("truncate_prompt_tokens.py", utils).returncode == 0
    assert utils.read_text() == own + "\n# steward: vllm-pr41800-truncate-prompt-tokens: not needed by this build\n".lstrip(
        "\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "anchor"),
    [
        ("get_max_tokens", "max_tokens_of", "def get_max_tokens"),
        ("    override_max_tokens: int | None = None,\n", "", "argument override_max_tokens of get_max_tokens"),
        ("max_model_len < input_length:", "input_length > max_model_len:", "if max_model_len < input_length"),
    ],
)
def test_a_build_without_an_anchor_is_left_as_it_is(utils: Path, before: str, after: str, anchor: str) -> None:
    """Given a build of another shape, when the script runs, then it names the missing anchor, fails, and changes nothing."""
    other = MAX_TOKENS.replace(before, after)
    utils.write_text(other)
    ended = insert("truncate_prompt_tokens.py", utils)
    assert (ended.returncode, ended.stderr) == (3, f"missing anchor: {anchor} in {utils}\n")
    assert utils.read_text() == other


def test_a_missing_file_is_a_missing_anchor(tmp_path: Path) -> None:
    """Given an image without the file, when a script runs, then it says so."""
    ended = insert("awq_moe_keys.py", tmp_path / "gemma4.py")
    assert (ended.returncode, "missing anchor: the file" in ended.stderr) == (3, True)


class Tensor:
    """As much of a tensor as the loader asks for."""

    def __init__(self, rows: list[Any]) -> None:
        """Nested lists."""
        self.rows = rows

    def dim(self) -> int:
        """How deep the lists are."""
        inner: Any = self.rows
        depth = 0
        while isinstance(inner, list):
            depth, inner = depth + 1, inner[0]
        return depth

    def size(self, axis: int) -> int:
        """Length of an axis."""
        inner: Any = self.rows
        for _ in range(axis):
            inner = inner[0]
        return len(inner)

    def __getitem__(self, key: Any) -> Tensor:
        """An element or a slice of the first axis."""
        return Tensor(self.rows[key])


def test_packed_experts_are_taken_apart(tmp_path: Path) -> None:
    """Given packed weights and scales, when the patched loader reads them, then each expert comes under the name of its own."""
    path = tmp_path / "gemma4.py"
    path.write_text(GEMMA)
    assert insert("awq_moe_keys.py", path).returncode == 0
    assert insert("awq_moe_keys.py", path).stdout.endswith("is patched already\n")
    both = Tensor([[["g0"], ["u0"]], [["g1"], ["u1"]]])
    weights = [
        ("model.layers.0.moe.gate_up_proj_packed", both),
        ("model.layers.0.moe.down_proj_scale", Tensor([[["d0"]], [["d1"]]])),
        ("model.layers.0.moe.gate_up_proj", both),
        ("model.layers.0.other_scale", both),
    ]
    loaded = module(path).Gemma4ForCausalLM().load_weights(weights)
    base = "model.layers.0.moe.experts"
    assert [(name, tensor.rows) for name, tensor in loaded[:6]] == [
        (f"{base}.0.gate_proj.weight_packed", [["g0"]]),
        (f"{base}.0.up_proj.weight_packed", [["u0"]]),
        (f"{base}.1.gate_proj.weight_packed", [["g1"]]),
        (f"{base}.1.up_proj.weight_packed", [["u1"]]),
        (f"{base}.0.down_proj.weight_scale", [["d0"]]),
        (f"{base}.1.down_proj.weight_scale", [["d1"]]),
    ]
    assert [name for name, _ in loaded[6:]] == ["plain", "model.layers.0.other_scale"]
    assert str(RECORDS["vllm-pr40886-awq-moe-keys"].sentinel) in path.read_text()


@pytest.mark.parametrize(
    ("mode", "topology", "expected"),
    [
        (
            "auto",
            "GPU0\t X \tNV4\nGPU1\tNV4\t X \n",
            {"NCCL_P2P_LEVEL": "NVL", "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512"},
        ),
        ("auto", "GPU0\t X \tPHB\nGPU1\tPHB\t X \n  NV#  = NVLinks\n", {"NCCL_P2P_DISABLE": "1"}),
        ("force_on", "", {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512"}),
        ("force_off", "GPU0\t X \tNV4\n", {"NCCL_P2P_DISABLE": "1"}),
    ],
)
def test_nvlink_decides_how_cards_talk(tmp_path: Path, mode: str, topology: str, expected: dict[str, str]) -> None:
    """Given a mode and what the driver prints, when the script is read, then it exports what suits such a rig."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\nprintf '%s' '{topology}'\n")
    tool.chmod(0o755)
    script = FOLDER / "nvlink" / "detect.sh"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NVLINK_MODE": mode}
    command = ["sh", "-c", f". {script} >&2; export STEWARD_ENGINE_ARGS; env"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=True)
    found = dict(line.split("=", 1) for line in ended.stdout.splitlines())
    assert {name: found.get(name) for name in expected} == expected
    assert ("NCCL_P2P_DISABLE" in found) != ("NCCL_P2P_LEVEL" in found)
    assert ("--disable-custom-all-reduce" in found.get("STEWARD_ENGINE_ARGS", "")) == ("NCCL_P2P_DISABLE" in found)
