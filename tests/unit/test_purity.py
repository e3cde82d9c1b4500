"""Pure code may not ask a clock, a file, a socket, the environment or chance; this reads its syntax tree to make sure."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PURE = (
    *sorted(ROOT.glob("controller/model/*.py")),
    *sorted(ROOT.glob("controller/resolve/**/*.py")),
    *sorted(ROOT.glob("controller/solver/*.py")),
    *sorted(ROOT.glob("controller/rollout/*.py")),
    *sorted(ROOT.glob("controller/dialects/*.py")),
    ROOT / "controller/ports.py",
    ROOT / "controller/errors.py",
    *sorted(ROOT.glob("reconcilers/*/plan.py")),
    *(ROOT / f"reconcilers/engines/{name}.py" for name in ("cause", "drift", "leave", "start")),
    *(ROOT / f"reconcilers/{name}.py" for name in ("rig_plan", "draft", "view")),
)
BANNED_MODULES = {
    "time", "random", "secrets", "socket", "subprocess", "threading", "logging", "os", "pathlib", "shutil", "tempfile",
    "asyncio", "httpx", "docker", "pynvml", "sqlite3", "watchdog", "requests", "uuid",
}  # fmt: skip
BANNED_CALLS = {"open", "print", "input", "exec", "eval"}
BANNED_ATTRIBUTES = {"now", "utcnow", "today"}


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_pure_module_has_no_effect(path: Path) -> None:
    """Given a module that is declared pure, when its tree is read, then it imports and calls nothing impure."""
    found = impurities(path.read_text())
    assert found == [], f"{path.relative_to(ROOT)} is declared pure"


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from random import choice",
        "open('x')",
        "from datetime import datetime\ndatetime.now()",
        "import os.path",
    ],
)
def test_the_reader_finds_an_impurity(text: str) -> None:
    """Given a line that is impure, when its tree is read, then the reader says so (it can fail)."""
    assert impurities(text)


def impurities(text: str) -> list[str]:
    """Everything in a module's text that pure code may not have."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in BANNED_MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in BANNED_MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            found += _bad_call(node.func)
    return found


def _bad_call(func: ast.expr) -> list[str]:
    if isinstance(func, ast.Name) and func.id in BANNED_CALLS:
        return [func.id]
    clock = isinstance(func, ast.Attribute) and func.attr in BANNED_ATTRIBUTES and isinstance(func.value, ast.Name)
    if clock and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in ("datetime", "date"):
        return [f"{func.value.id}.{func.attr}"]
    return []
