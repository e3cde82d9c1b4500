"""Tells a demo as it happens: the journal, why an estate is refused, and, once all engines are ready, what to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from controller.cli.demo_stage import Stage
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.problem import has_errors
from controller.model.status import Status
from observability.text import events_text, problems_text

REFUSALS: Final = ("RevisionRefused", "SourceUnreadable")
"""Journal lines about an estate that does not come into force."""


def _no_guide(status: Status) -> str:  # noqa: ARG001 - the shape of `guide`
    return ""


@dataclass(slots=True)
class Teller:
    """A Recorder; `guide` makes the text for people out of the first status in which all is ready."""

    stage: Stage
    color: bool
    guide: Callable[[Status], str] = _no_guide
    _is_news: bool = False
    """Whether a refusal was told whose problems were not."""
    _refused: bool = False
    """Whether the newest estate is refused, as told last."""
    _in_force: str = ""
    _guided: bool = False

    def event(self, event: Event) -> None:
        """A journal line; of an estate that is refused the next status has every problem, which reads better."""
        if event.kind in REFUSALS:
            self._is_news = True
            event = replace(event, message="the estate is refused, the last accepted one stays in force")
        self.stage.say(events_text((event,), brief=True))

    def passed(self, trigger: str, result: str, seconds: float, now: Instant) -> None:
        """Passes are counted, not told."""

    def acted(self, instance: str, action: str, result: str) -> None:
        """An action's end has a journal line of its own."""

    def show(self, status: Status) -> None:
        """The table, and what is new about the estate."""
        self._tell_estate(status)
        self.stage.show(status)
        if not self._guided and status.instances and status.converged and all(i.ready for i in status.instances):
            self._guided = True
            self.stage.say(self.guide(status))

    def _tell_estate(self, status: Status) -> None:
        """Every problem of an estate that was just refused; that it is mended where no new revision says so."""
        before, self._refused = self._refused, has_errors(status.problems)
        known, self._in_force = self._in_force, status.accepted
        if self._refused and self._is_news:
            self.stage.say(problems_text(status.problems, color=self.color))
        elif before and not self._refused and known == status.accepted:
            self.stage.say("the estate is mended, and is the one in force already")
        self._is_news = False
