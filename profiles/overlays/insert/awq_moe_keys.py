"""vllm-project/vllm#40886: the packed AWQ experts of Gemma 4 are loaded one by one, under the names that the loader knows.

The weights hold all experts of a layer in one tensor: `moe.gate_up_proj_packed` with gate and up one above the other, and
`moe.down_proj_packed`; the scales alike, as `..._scale`. Usage: python3 awq_moe_keys.py vllm/model_executor/models/gemma4.py
"""

import sys

from anchored import before, change, function, statement

MARK = "steward: vllm-pr40886-awq-moe-keys"
LINES = [
    f"# {MARK}",
    "steward_stem, _, steward_kind = name.rpartition('_')",
    "if steward_kind in ('packed', 'scale') and weight.dim() == 3:",
    "    steward_layer, _, steward_part = steward_stem.rpartition('moe.')",
    "    if steward_layer and steward_part in ('gate_up_proj', 'down_proj'):",
    "        for steward_expert in range(weight.size(0)):",
    "            steward_whole = weight[steward_expert]",
    "            steward_half = steward_whole.size(0) // 2",
    "            steward_pieces = {'down_proj': steward_whole}",
    "            if steward_part == 'gate_up_proj':",
    "                steward_pieces = {'gate_proj': steward_whole[:steward_half], 'up_proj': steward_whole[steward_half:]}",
    "            for steward_name, steward_piece in steward_pieces.items():",
    "                steward_base = f'{steward_layer}moe.experts.{steward_expert}.{steward_name}'",
    "                yield f'{steward_base}.weight_{steward_kind}', steward_piece",
    "        continue",
]


def has_it(text):
    """Whether the build knows the packed tensors."""
    return "gate_up_proj_packed" in text


def edits(tree):
    """The packed tensors are taken in front of the plain ones."""
    path = sys.argv[1]
    iterator = function(tree, "_weight_iterator", path)
    yield before(statement(iterator, "'moe.gate_up_proj' in name and weight.dim() == 3", path), LINES)


change(sys.argv[1], MARK, has_it, edits)
