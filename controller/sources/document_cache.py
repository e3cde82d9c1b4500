"""Documents that this process has parsed already: the same bytes under the same name are not parsed twice."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from controller.model.document import Document
from controller.model.problem import Problem
from controller.settings import Bounds
from controller.sources.yaml_reader import read_document

MOST: Final = 512
"""Several times the documents of the built-in catalogue; the ones that were not asked for longest go first."""


@dataclass(slots=True)
class DocumentCache:
    """For one thread; at most `most` documents are kept."""

    most: int = MOST
    _kept: OrderedDict[tuple[str, bytes], Document | tuple[Problem, ...]] = field(default_factory=OrderedDict)

    def read(self, file: str, data: bytes, bounds: Bounds) -> Document | tuple[Problem, ...]:
        """The document in these bytes, or what keeps it from being one."""
        key = (file, data)
        if key not in self._kept:
            self._kept[key] = read_document(file, data, bounds)
            if len(self._kept) > self.most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
