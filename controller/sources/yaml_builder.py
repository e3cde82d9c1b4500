"""Values out of a YAML parser's events.

Building from events instead of from the parser's own tree keeps every limit in reach while the file is read: depth, values and
aliases are counted as they come, nothing recurses, and an alias adds the size of what it stands for without copying it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

import yaml

from controller.model.document import Document, Plain, Scalar, scalar_text
from controller.model.problem import DocPath, Place, Problem, dotted
from controller.settings import Bounds
from controller.sources.yaml_scalars import Refused, plain_value
from controller.sources.yaml_syntax import Mark, place_of
from controller.sources.yaml_text import STRAY, yaml_problem

_MOST_PROBLEMS: Final = 100
"""A file with more is broken as a whole; the rest is not looked for."""

_Container: TypeAlias = "list[Plain] | dict[str, Plain]"
_Opening: TypeAlias = yaml.SequenceStartEvent | yaml.MappingStartEvent


class Stop(Exception):
    """The file is not worth reading on; the reason stands among the problems."""


@dataclass(slots=True)
class _Anchor:
    """What a `&name` stands for; `weight` counts the values in it, `height` the levels, both with aliases followed."""

    line: int
    value: Plain = None
    weight: int = 1
    height: int = 0
    complete: bool = False


@dataclass(slots=True)
class _Level:
    """One list or mapping that is still open; `key` is the one whose value comes next."""

    path: DocPath
    value: _Container
    anchor: _Anchor | None
    key: str | None = None
    weight: int = 1
    height: int = 1


@dataclass(slots=True)
class Builder:
    """Turns events into values; one call of `take` for each. `end` is where the text ends."""

    file: str
    bounds: Bounds
    end: Place
    problems: list[Problem] = field(default_factory=list)
    places: dict[DocPath, Place] = field(default_factory=dict)
    keys: dict[DocPath, Place] = field(default_factory=dict)
    written: dict[DocPath, str] = field(default_factory=dict)
    root: Plain = None
    documents: int = 0
    nodes: int = 0
    aliases: int = 0
    levels: list[_Level] = field(default_factory=list)
    anchors: dict[str, _Anchor] = field(default_factory=dict)

    def document(self, digest: str) -> Document | tuple[Problem, ...]:
        """What was built, or what is wrong with it."""
        if not self.problems and (self.documents == 0 or self.written.get(()) == ""):
            hint = "write the values, or delete the file"
            self.problems.append(yaml_problem(Place(self.file, 1, 1), "the file is empty", hint))
        if self.problems:
            return tuple(self.problems)
        return Document(self.file, self.root, digest, self.places, self.keys, self.written)

    def take(self, event: yaml.Event) -> None:
        """Go on by one event."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._document_start(event)

    def _document_start(self, event: yaml.DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            hint = "remove the line `---`, or make it a file of its own"
            self._fatal(event, "a second YAML document begins here, expected one in the file", hint)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        level = self.levels[-1] if self.levels else None
        if event.style == '"' and (stray := STRAY.search(event.value)):
            self._problem(event, f"the text holds the control character U+{ord(stray[0]):04X}", "remove its escape")
        if level and isinstance(level.value, dict) and level.key is None:
            self._count(event, 1)
            self._key(level, level.value, event)
            return
        anchor = self._anchor(event)
        path = self._next_path()
        value = self._value(event, path)
        self._put(event, path, value, 1, 0)
        if anchor:
            anchor.value, anchor.complete = value, True

    def _value(self, event: yaml.ScalarEvent, path: DocPath) -> Scalar:
        if event.style:
            return event.value
        value = plain_value(event.value)
        if isinstance(value, Refused):
            self._problem(event, f"`{event.value[:40]}`: {value.reason}", "put it in quotes if it is meant as text")
            return None
        if not isinstance(value, str) and scalar_text(value) != event.value:
            self.written[path] = event.value
        return value

    def _key(self, level: _Level, mapping: dict[str, Plain], event: yaml.ScalarEvent) -> None:
        level.key = event.value
        path = (*level.path, event.value)
        if event.value == "<<" and not event.style:
            self._problem(event, "merge keys (`<<`) are not followed", "write the keys out, or use `defaults`", path)
        elif event.value in mapping:
            where = _two_lines(self.keys[path].line, _mark(event).line + 1)
            self._problem(event, f"the key `{_short(event.value)}` stands {where}", "keep one of them", path)
        self.keys.setdefault(path, self._place(event))
        if anchor := self._anchor(event):
            anchor.value, anchor.complete = event.value, True

    def _open(self, event: _Opening) -> None:
        level = self.levels[-1] if self.levels else None
        if level and isinstance(level.value, dict) and level.key is None:
            self._fatal(event, "a key must be one word, not a list or a mapping", "put text with brackets or braces in quotes")
        if len(self.levels) >= self.bounds.yaml_depth:
            self._fatal(event, f"values nest deeper than {self.bounds.yaml_depth} levels", "write it flatter")
        anchor = self._anchor(event)
        path = self._next_path()
        value: _Container = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._put(event, path, value, 1, 0)
        self.levels.append(_Level(path, value, anchor))

    def _close(self) -> None:
        done = self.levels.pop()
        if done.anchor:
            done.anchor.value, done.anchor.complete = done.value, True
            done.anchor.weight, done.anchor.height = done.weight, done.height
        if self.levels:
            above = self.levels[-1]
            above.weight += done.weight - 1
            above.height = max(above.height, done.height + 1)

    def _alias(self, event: yaml.AliasEvent) -> None:
        level = self.levels[-1] if self.levels else None
        name = f"`*{_short(event.anchor or '')}`"
        self.aliases += 1
        if self.aliases > self.bounds.yaml_aliases:
            self._fatal(event, f"more than {self.bounds.yaml_aliases} aliases in one file", "write the values out")
        if level and isinstance(level.value, dict) and level.key is None:
            self._fatal(event, f"a key must be one word, not the alias {name}", "write the key out")
        anchor = self.anchors.get(event.anchor or "")
        if anchor is None:
            self._problem(event, f"{name} has no `&` before it in this file", "put text that begins with * in quotes")
        elif not anchor.complete:
            self._fatal(event, f"{name} stands inside of its own value, which begins on line {anchor.line}", "write it out")
        elif len(self.levels) + anchor.height > self.bounds.yaml_depth:
            self._fatal(event, f"with {name}, values nest deeper than {self.bounds.yaml_depth} levels", "write it flatter")
        found = anchor or _Anchor(0)
        self._put(event, self._next_path(), found.value, found.weight, found.height)

    def _anchor(self, event: yaml.ScalarEvent | _Opening) -> _Anchor | None:
        """Note the node's anchor, which the caller completes, and refuse its tag."""
        if event.tag is not None:
            shown = _short(event.tag.replace("tag:yaml.org,2002:", "!!"))
            hint = "remove it; put a value in quotes to make it text"
            self._problem(event, f"the tag `{shown}` is not used here, expected a plain value", hint)
        if event.anchor is None:
            return None
        line = _mark(event).line + 1
        if before := self.anchors.get(event.anchor):
            where = _two_lines(before.line, line)
            self._problem(event, f"the anchor `&{_short(event.anchor)}` stands {where}", "give each its own name")
        self.anchors[event.anchor] = anchor = _Anchor(line)
        return anchor

    def _next_path(self) -> DocPath:
        if not self.levels:
            return ()
        level = self.levels[-1]
        if isinstance(level.value, list):
            return (*level.path, len(level.value))
        return level.path if level.key is None else (*level.path, level.key)

    def _put(self, event: yaml.Event, path: DocPath, value: Plain, weight: int, height: int) -> None:
        self._count(event, weight)
        self.places[path] = self._place(event)
        if not self.levels:
            self.root = value
            return
        level = self.levels[-1]
        if isinstance(level.value, list):
            level.value.append(value)
        else:
            level.value[str(path[-1])] = value
            level.key = None
        level.weight += weight
        level.height = max(level.height, height + 1)

    def _count(self, event: yaml.Event, weight: int) -> None:
        self.nodes += weight
        if self.nodes > self.bounds.yaml_nodes:
            message = f"more than {self.bounds.yaml_nodes} values, those behind aliases counted each time"
            self._fatal(event, message, "split the file, or write fewer aliases")

    def _place(self, event: yaml.Event) -> Place:
        return place_of(_mark(event), self.end)

    def _problem(self, event: yaml.Event, message: str, hint: str, path: DocPath | None = None) -> None:
        where = self._next_path() if path is None else path
        self.problems.append(yaml_problem(self._place(event), message, hint, dotted(where)))
        if len(self.problems) >= _MOST_PROBLEMS:
            raise Stop

    def _fatal(self, event: yaml.Event, message: str, hint: str) -> None:
        self._problem(event, message, hint)
        raise Stop


def _mark(event: yaml.Event) -> Mark:
    mark: Mark | None = event.start_mark
    assert mark is not None, "the parser marks every event"
    return mark


def _two_lines(first: int, again: int) -> str:
    return f"on line {first} and on line {again}" if first != again else f"twice on line {first}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
