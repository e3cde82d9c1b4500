"""Where a demo is told: on a terminal with the table of the status below it, or as plain lines for pipes and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from controller.cli.live_table import LiveTable, Rows
from controller.model.status import Status
from controller.ports import Clock
from observability.text import status_text
from observability.text.cells import Color, cut, paint


class Stage(Protocol):
    """Takes what happens, from the loop's thread."""

    def say(self, text: str) -> None:
        """Lines that stay."""
        ...

    def show(self, status: Status) -> None:
        """The rig as the last pass left it."""
        ...


@dataclass(frozen=True, slots=True)
class LiveStage:
    """Lines scroll by above the table; `foot` is the line below it."""

    table: LiveTable
    clock: Clock
    foot: str
    color: bool

    def say(self, text: str) -> None:
        """Lines above the table."""
        self.table.say(text)

    def show(self, status: Status) -> None:
        """The table, in which time goes on between two passes."""
        self.table.show(self._rows(status))

    def _rows(self, status: Status) -> Rows:
        def rows(width: int) -> list[str]:
            present = aged(status, self.clock.now().mono - status.at.mono)
            text = status_text(present, width=width, color=self.color, verbose=False)
            return ["", *text.splitlines(), "", paint(cut(self.foot, width), Color.FAINT, on=self.color)]

        return rows


@dataclass(slots=True)
class PlainStage:
    """Only lines; the table is among them once all that changed in it has settled. `print_text` raises OSError."""

    print_text: Callable[[str], None]
    gone: Callable[[], None]
    width: int
    _latest: tuple[object, ...] = ()
    _is_due: bool = False

    def say(self, text: str) -> None:
        """Print it; `gone` is called when nobody reads any more."""
        try:
            self.print_text(text)
        except OSError:
            self.gone()

    def show(self, status: Status) -> None:
        """Print the table when it has changed since the last one and nothing is left to do."""
        rows = tuple((i.name, i.ready, i.state, i.port) for i in status.instances)
        self._is_due |= rows != self._latest
        self._latest = rows
        if self._is_due and status.converged:
            self._is_due = False
            self.say("\n" + status_text(status, width=self.width, color=False, verbose=False) + "\n")


def aged(status: Status, seconds: float) -> Status:
    """The status so many seconds later, in which nothing but the ages is different."""
    known = [instance.age_s for instance in status.instances]
    ages = [None if age_s is None else age_s + seconds for age_s in known]
    later = [replace(instance, age_s=age_s) for instance, age_s in zip(status.instances, ages, strict=True)]
    return replace(status, instances=tuple(later))
