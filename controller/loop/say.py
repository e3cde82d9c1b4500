"""Puts what the loop did into words: one journal line each, never the same state twice in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.errors import StewardError
from controller.loop.desire import Change
from controller.loop.execute import Result
from controller.model.events import Event
from controller.model.moment import Instant
from controller.model.plan import Step
from controller.model.problem import Problem, Severity
from controller.model.track import Sighting, Verdict
from controller.ports import Recorder, Store


@dataclass(slots=True)
class Speaker:
    """Writes journal lines into the store and tells the recorder of each."""

    store: Store
    recorder: Recorder
    now: Instant = Instant(0.0, 0.0)
    pass_id: str = ""
    _source: str = ""
    _trouble: str = ""

    def begin(self, now: Instant, pass_id: str) -> None:
        """A new pass: its lines carry this time and id."""
        self.now, self.pass_id = now, pass_id

    def say(self, kind: str, message: str, *, instance: str = "", cause: str = "", level: str = "info") -> None:
        """One line."""
        event = Event(self.now, kind, message, instance, cause, self.pass_id, level)
        try:
            event = self.store.append(event)
        except StewardError as error:
            self.recorder.event(replace(event, kind="JournalFailed", message=str(error), level="error"))
        self.recorder.event(event)

    def starting(self, step: Step) -> None:
        """An effect begins."""
        self.say("ActionStarted", step.action.value, instance=step.instance, cause=str(step.cause))

    def action(self, result: Result) -> None:
        """An effect ended."""
        step, kinds = result.step, {"done": "ActionDone", "refused": "ActionRefused", "fault": "ActionWaits"}
        kind = kinds.get(result.result, "ActionUnknown")
        message = f"{step.action}: {result.message}" if result.message else step.action.value
        level = "info" if result.result == "done" else "warning"
        self.say(kind, message, instance=step.instance, cause=str(step.cause), level=level)
        self.recorder.acted(step.instance, step.action.value, result.result)

    def change(self, change: Change) -> None:
        """A revision was judged."""
        if change.kind == "accepted":
            self.say("RevisionAccepted", f"revision {change.revision} is in force")
        elif change.kind == "refused":
            errors = [p for p in change.problems if p.severity is Severity.ERROR]
            text = f"revision {change.revision} is refused, the last accepted one stays: {_problem_text(errors)}"
            self.say("RevisionRefused", text, level="error")

    def source(self, problems: tuple[Problem, ...]) -> None:
        """The source was read, or could not be; said once until that changes."""
        text = _problem_text(list(problems))
        if text != self._source:
            self._source = text
            if problems:
                self.say("SourceUnreadable", f"{text}; the last accepted revision stays", level="warning")
            else:
                self.say("SourceReady", "the estate can be read again")

    def trouble(self, text: str) -> None:
        """A pass could not be finished; said once until the text changes."""
        if text != self._trouble:
            self._trouble = text
            self.say("PassFailed", f"a pass could not be finished, it is tried again: {text}", level="error")

    def sighting(self, sighting: Sighting) -> None:
        """An overlay was looked for; only what is not as it should be is told."""
        if sighting.found:
            return
        reason = sighting.detail or f"`{sighting.sentinel}` is in none of its files"
        self.say("OverlayUnverified", f"overlay {sighting.overlay}: {reason}", instance=sighting.instance, level="warning")

    def verdict(self, verdict: Verdict) -> None:
        """Something was concluded about a container."""
        failure = verdict.failure
        reason = f"{failure.reason}: {failure.message}" if failure else verdict.detail
        if verdict.kind == "ready":
            self.say("InstanceReady", f"ready {verdict.detail}", instance=verdict.instance)
        elif verdict.kind == "boot-failed":
            self.say("BootFailed", reason, instance=verdict.instance, level="error")
        elif verdict.restarts:
            pause = verdict.restarts.next_at - verdict.restarts.exited_at
            text = f"{reason}; start {verdict.restarts.count} again in {pause:.0f} s"
            cause = failure.reason if failure else ""
            self.say("EngineExited", text, instance=verdict.instance, cause=cause, level="warning")


def _problem_text(problems: list[Problem]) -> str:
    if not problems:
        return ""
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    place = f"{first.place}: " if first.place else ""
    return f"{place}{first.message} [{first.rule}]{more}"
