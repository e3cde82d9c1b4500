"""YAML files as values with the place of every key and value; what is wrong comes back as problems, never as an exception."""

from __future__ import annotations

import hashlib
from typing import Final

import yaml

from controller.model.document import Document
from controller.model.problem import Problem
from controller.settings import Bounds
from controller.sources.yaml_builder import Builder, Stop
from controller.sources.yaml_syntax import syntax_problem
from controller.sources.yaml_text import place_in, text_of

_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The C parser; the slower one in Python only where PyYAML was built without it."""


def read_document(file: str, data: bytes, bounds: Bounds) -> Document | tuple[Problem, ...]:
    """The document in these bytes, or every problem that keeps it from being one; `file` is what the user would type."""
    text = text_of(file, data, bounds.estate_file)
    if isinstance(text, Problem):
        return (text,)
    builder = Builder(file, bounds, place_in(file, text, len(text)))
    try:
        for event in yaml.parse(text, Loader=_PARSER):
            builder.take(event)
    except Stop:
        pass
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the parser in Python lets the last two through for escapes
        builder.problems.append(syntax_problem(text, error, builder.end))
    return builder.document(hashlib.sha256(data).hexdigest())
