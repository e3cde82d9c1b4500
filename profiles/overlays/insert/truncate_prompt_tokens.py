"""vllm-project/vllm#41800: `get_max_tokens` takes `truncate_prompt_tokens`, and counts the prompt as it will be cut.

Usage: python3 truncate_prompt_tokens.py vllm/entrypoints/utils.py
"""

import sys

from anchored import before, behind, change, function, missing, statement

MARK = "steward: vllm-pr41800-truncate-prompt-tokens"
NEW = "truncate_prompt_tokens"


def has_it(text):
    """Whether the build's own function takes the argument."""
    return f"{NEW}:" in text


def edits(tree):
    """One more argument behind the last one, and the shorter prompt in front of the length check."""
    path = sys.argv[1]
    found = function(tree, "get_max_tokens", path)
    arguments = found.args.args
    if not arguments or arguments[-1].arg != "override_max_tokens" or not found.args.defaults:
        missing("argument override_max_tokens of get_max_tokens", path)
    check = statement(found, "max_model_len < input_length", path)
    yield behind(found.args.defaults[-1], f", {NEW}: int | None = None")
    yield before(
        check,
        [
            f"# {MARK}; a negative number stands for the whole context",
            f"if {NEW} is not None:",
            f"    input_length = min(input_length, {NEW} if {NEW} >= 0 else max_model_len)",
        ],
    )


change(sys.argv[1], MARK, has_it, edits)
