"""Documents put together out of others, where every value keeps the place that it was written at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from controller.model.document import Document, Plain
from controller.model.problem import DocPath, Place

Node: TypeAlias = tuple[Document, DocPath, Plain]
"""A value together with the document and the path that it comes from."""
ListRule: TypeAlias = Callable[[DocPath, list[Node], list[Node]], list[Node]]


class Graft:
    """Builds a document's values, places and keys from nodes of other documents."""

    def __init__(self, list_rule: ListRule) -> None:
        """`list_rule` decides what becomes of two lists at a path."""
        self._list_rule = list_rule
        self.places: dict[DocPath, Place] = {}
        self.keys: dict[DocPath, Place] = {}
        self.written: dict[DocPath, str] = {}

    def copy(self, node: Node, to: DocPath) -> Plain:
        """The node's value at `to`."""
        document, path, value = node
        self._note(node, to)
        if isinstance(value, dict):
            return {key: self.copy((document, (*path, key), item), (*to, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.copy(item, (*to, i)) for i, item in enumerate(items_of(node))]
        return value

    def merge(self, base: Node, over: Node, to: DocPath) -> Plain:
        """`over` upon `base`: mappings key by key, lists as the rule says, anything else replaced."""
        below, above = base[2], over[2]
        self._note(over, to)
        if isinstance(below, dict) and isinstance(above, dict):
            return {key: self._merge_key(base, over, key, to) for key in {**below, **above}}
        if isinstance(below, list) and isinstance(above, list):
            chosen = self._list_rule(to, items_of(base), items_of(over))
            return [self.copy(item, (*to, i)) for i, item in enumerate(chosen)]
        return self.copy(over, to)

    def _merge_key(self, base: Node, over: Node, key: str, to: DocPath) -> Plain:
        below, above = child_of(base, key), child_of(over, key)
        if below is not None and above is not None:
            return self.merge(below, above, (*to, key))
        one = above or below
        assert one is not None
        return self.copy(one, (*to, key))

    def _note(self, node: Node, to: DocPath) -> None:
        document, path, _ = node
        self.places[to] = document.place(path)
        if path in document.keys:
            self.keys[to] = document.keys[path]
        if path in document.written:
            self.written[to] = document.written[path]


def child_of(node: Node, key: str) -> Node | None:
    """The value below a key, when the node is a mapping that has it."""
    document, path, value = node
    return (document, (*path, key), value[key]) if isinstance(value, dict) and key in value else None


def items_of(node: Node) -> list[Node]:
    """The items of a list."""
    document, path, value = node
    return [(document, (*path, i), item) for i, item in enumerate(value)] if isinstance(value, list) else []
