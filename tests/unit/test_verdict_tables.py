"""What the rules say of every template on rigs that users have: a table on record, and what it has to be by hand."""

from __future__ import annotations

import re
from typing import Final

import pytest

from controller.model.problem import Severity
from controller.model.resolved import Resolved
from controller.resolve import Surroundings, resolve
from tests.unit.resolving import document
from tests.unit.templates import CATALOGUE, TEMPLATES
from tests.verdict_tables import FILE, RIGS, facts, lines, problems

FOUR_CARDS: Final = {
    "vllm/dual4",
    "vllm/dual4-dflash",
    "vllm/gemma-31b-multi-google-qat-w4a16",
    "vllm/nemotron-75b-multi-mtp",
    "vllm/qwen-27b-multi-fast",
    "vllm/qwen-27b-multi-max",
}
ONE_CARD: Final = {
    "generic/http",
    "historical/vllm/minimal",
    "llamacpp/concurrent",
    "llamacpp/default",
    "llamacpp/generic",
    "llamacpp/split",
    "sglang/generic",
    "simulated/default",
    "vllm/bounded-thinking",
    "vllm/default",
    "vllm/gemma-12b-single-int8-mtp",
    "vllm/gemma-26ba4b-single",
    "vllm/gemma-a4b-single",
    "vllm/gemma-mtp-tp1",
    "vllm/generic",
    "vllm/long-text",
    "vllm/long-text-no-mtp",
    "vllm/long-vision",
    "vllm/minimal",
    "vllm/qwen-27b-single-nvfp4",
    "vllm/qwen-35b-a3b-single-nvfp4",
    "vllm/qwen-a3b-preview-single",
    "vllm/tools-text",
}
SEVERAL: Final = set(TEMPLATES) - ONE_CARD
TWO_CARDS: Final = SEVERAL - FOUR_CARDS
TENSOR: Final = {name for name in SEVERAL if not name.startswith("llamacpp/")}
LINKED: Final = {f"vllm/dual-nvlink{kind}" for kind in ("", "-turbo", "-dflash", "-dflash-noviz")}
BLOCKED: Final = {"vllm/gemma-a4b", "vllm/gemma-a4b-single"}
"""Their weights have experts that no kernel for compute capability 8.6 divides."""
HOPPER: Final = {"vllm/gemma-int8-tq3", "vllm/gemma-mtp-tp1"}
"""They need compute capability 9.0 and say nothing of a fallback."""
GARBAGE: Final = {"vllm/dual-tq3-mtp", "vllm/gemma-int8-tq3"}
"""3-bit KV and MTP without the patch bundle."""
LARGE: Final = {"vllm/gemma-mtp-tp1", "vllm/qwen-27b-single-nvfp4", "vllm/qwen-35b-a3b-single-nvfp4"}
"""A template for cards of 32 GiB, and weights of 22 and 24 GB, of which a card of 24 GiB gives 20.0 and 21.7 GiB."""
PACKED_FP8: Final = {"vllm/gemma-mtp-tp1"}
"""fp8_e4m3 KV for packed weights of a family that does not decide on the attention backend."""
AMPERE: Final = {"C3": HOPPER, "C5": PACKED_FP8, "C12": LARGE, "C14": BLOCKED}

FAILS: Final = {
    "1x:rtx-3090": AMPERE | {"C1": SEVERAL, "C13": LINKED, "G3": GARBAGE},
    "2x:rtx-3090": AMPERE | {"C1": FOUR_CARDS, "C13": LINKED, "G3": GARBAGE},
    "2x:rtx-3090:nvlink": AMPERE | {"C1": FOUR_CARDS, "G3": GARBAGE},
    "1x:rtx-5090": {"C1": SEVERAL, "C13": LINKED, "G3": GARBAGE},
    "1x:rtx-3090+1x:rtx-5090": AMPERE | {"C1": FOUR_CARDS, "C13": LINKED, "C16": TENSOR, "G3": GARBAGE},
    "4x:rtx-3090": AMPERE | {"C13": LINKED, "G3": GARBAGE},
}
"""Which templates break which rule on each rig, as it follows from the facts; docs/solver.md tells where older tools differ."""


def test_table_is_the_one_on_record() -> None:
    """Given every template on each rig, when it is validated, then the golden file has it (`-m tests.verdict_tables`)."""
    assert "".join(lines()) == FILE.read_text()


@pytest.mark.parametrize("rig", RIGS)
def test_what_fails_is_what_the_facts_say(rig: str) -> None:
    """Given a rig, when every template is validated on it, then exactly those rules break that are derived by hand."""
    cards, found = facts(rig), dict[str, set[str]]()
    for template in TEMPLATES:
        for problem in problems(template, cards):
            if problem.severity is Severity.ERROR:
                found.setdefault(problem.rule, set()).add(template)
    assert found == FAILS[rig]


def test_the_example_of_a_waiver_holds() -> None:
    """Given the estate of docs/solver.md, when it is validated on unequal cards, then its waived rule is a warning."""
    (example,) = re.findall(r"```yaml\n(.*?)```", (FILE.parents[3] / "docs" / "solver.md").read_text(), re.DOTALL)
    found = resolve([document(example)], CATALOGUE, Surroundings(facts("1x:rtx-3090+1x:rtx-5090"), now=0.0), "docs")
    assert isinstance(found, Resolved)
    waived = [problem for problem in found.problems if "waived" in problem.message]
    assert {(problem.rule, problem.severity) for problem in waived} == {("C16", Severity.WARNING)}
