"""Changes one Python file of an image at anchors, so that a build without an anchor is refused and never patched blindly.

A file that holds the mark is left as it is: a container that starts again has been patched by its first start. A file in which
the change has arrived by itself is only given the mark, by which Steward sees that all is as it should be.
"""

import ast
import shutil
import sys
from pathlib import Path

MISSING = 3
"""Exit code where an anchor, or the file itself, is missing."""


def missing(what, path):
    """End, naming what was looked for."""
    print(f"missing anchor: {what} in {path}", file=sys.stderr)
    sys.exit(MISSING)


def function(tree, name, path):
    """The function of this name, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    return missing(f"def {name}", path)


def statement(inside, test, path):
    """The `if` with this test."""
    for node in ast.walk(inside):
        if isinstance(node, ast.If) and ast.unparse(node.test) == test:
            return node
    return missing(f"if {test}", path)


def before(node, lines):
    """An insertion of whole lines in front of a statement, as deep as it stands."""
    text = "".join(f"{' ' * node.col_offset}{line}\n" for line in lines)
    return node.lineno, 0, text


def behind(node, text):
    """An insertion right behind an expression."""
    return node.end_lineno, node.end_col_offset, text


def change(path, mark, arrived, edits):
    """Make the edits of `edits(tree)` in the file, unless `arrived(text)` says that the build has the change."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        missing("the file", path)
    if mark in text:
        print(f"{path} is patched already")
        return
    if arrived(text):
        print(f"{path} has the change by itself")
        made = f"{text.rstrip()}\n# {mark}: not needed by this build\n"
    else:
        made = inserted(text, edits(ast.parse(text)))
    compile(made, path, "exec")
    replace(path, made)


def inserted(text, edits):
    """The text with each insertion at its line (from 1) and column (in bytes), last one first."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for line, column, new in sorted(edits, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + new.encode() + old[column:]
    return b"".join(lines).decode()


def replace(path, text):
    """Write the file anew in one go, with the rights of the old one."""
    fresh = Path(f"{path}.steward")
    fresh.write_text(text, encoding="utf-8")
    shutil.copymode(path, fresh)
    fresh.replace(path)
    print(f"{path} is patched")
