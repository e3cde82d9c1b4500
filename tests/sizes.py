"""Reports how long files and functions are, and fails above the caps that the project has set itself.

Caps: file 500 lines, 95 % of the functions at most 40 lines, median file at most 150 lines.
"""

from __future__ import annotations

import ast
import statistics
import sys
from pathlib import Path

FILE_CAP, FILE_MEDIAN, FUNCTION_P95 = 500, 150, 40
PACKAGES = ("controller", "reconcilers", "observability")


def main() -> int:
    """Print the figures; 1 when one is above its cap."""
    files = {path: path.read_text() for package in PACKAGES for path in sorted(Path(package).rglob("*.py"))}
    lengths = {path: text.count("\n") for path, text in files.items() if text.strip()}
    functions = sorted(length for text in files.values() for length in _function_lengths(text))
    median, p95 = statistics.median(lengths.values()), functions[int(len(functions) * 0.95)]
    longest = max(lengths, key=lambda path: lengths[path])
    print(f"sizes: {len(lengths)} files, median {median:.0f} lines, longest {longest} with {lengths[longest]}", end="; ")
    print(f"{len(functions)} functions, median {statistics.median(functions):.0f} lines, p95 {p95}")
    return int(lengths[longest] > FILE_CAP or median > FILE_MEDIAN or p95 > FUNCTION_P95)


def _function_lengths(text: str) -> list[int]:
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes]


if __name__ == "__main__":
    sys.exit(main())
