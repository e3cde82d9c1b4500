"""Overlays over passes: their files come before anything stops, and each container is looked into once."""

from __future__ import annotations

import pytest

from controller.errors import EngineUnreachable
from controller.model.payload import Payload
from controller.model.resolved import Resolved
from controller.model.status import Condition, Truth
from tests.loop.rig import MemoryRig, entry, estate

BARE = estate(entry("chat", 8010))
WITH_FIX = estate(entry("chat", 8010, more="overlays: [fix]"))
WITH_STEP = estate(entry("chat", 8010, more="overlays: [step]"))
HEAD = "title: x\nupstream: none\nupstream_reason: a test\ntarget_files: [/opt/fix.py]\n"
FILE = f"{{path: fix.py, target: /opt/fix.py, sha256: {'a' * 64}}}"
FIX = (
    f"id: fix\nmechanism: file_mounts\nsource: {{git: {{url: 'https://forge.test/r', commit: {'c' * 40}, files: [{FILE}]}}}}\n"
)
STEP = (
    "id: step\nmechanism: install_script\nsource: {dir: {files: [{path: s.sh}]}}\nsentinel: patched\n"
    "steps: [{run: [sh, /etc/steward/overlays/step/s.sh]}]\n"
)
OVERLAYS = {"overlays/fix.yml": FIX + HEAD, "overlays/step.yml": STEP + HEAD, "overlays/step/s.sh": "true\n"}


def a_rig(text: str) -> MemoryRig:
    """A rig whose estate lies in a repository with overlays of its own."""
    rig = MemoryRig(text)
    rig.source.documents = dict(OVERLAYS)
    return rig


def condition(rig: MemoryRig, kind: str) -> Condition:
    """A condition of the instance."""
    return next(c for c in rig.instance("chat").conditions if c.type == kind)


def payload_of(rig: MemoryRig, name: str) -> Payload:
    """The payload that the instance needs for an overlay, or for its start."""
    resolved = rig.loop.desire.in_force(rig.loop.cards, rig.clock.now())
    assert isinstance(resolved, Resolved)
    found = next(need.payload for need in resolved.instances[0].payloads if need.name == name)
    assert found is not None
    return found


def test_files_that_are_missing_hold_the_change_and_stop_nothing() -> None:
    """Given a serving engine, when an overlay is put on that was not fetched, then it serves until the files have come."""
    rig = a_rig(WITH_FIX)
    rig.step()
    key = payload_of(rig, "fix").key
    rig = a_rig(BARE)
    rig.payloads.missing.add(key)
    rig.run(30)
    (before,) = rig.running("chat")
    rig.edit(WITH_FIX)
    rig.run(120)
    assert [c.id for c in rig.containers("chat")] == [before.id]
    missing = condition(rig, "OverlayPayloadMissing")
    assert (missing.status, "steward overlays fetch fix" in missing.message) == (Truth.TRUE, True)
    assert "waits for the files of overlay fix" in rig.instance("chat").why
    rig.payloads.missing.clear()
    assert rig.run(60).converged
    (after,) = rig.running("chat")
    assert after.id != before.id
    assert condition(rig, "OverlayPayloadMissing").status is Truth.FALSE


def test_what_steward_has_itself_is_put_in_place_first() -> None:
    """Given files beside the estate that are not in the state folder, when applied, then they are pulled before the create."""
    rig = a_rig(WITH_STEP)
    rig.step()
    needed = {payload_of(rig, "step").key, payload_of(rig, "start script").key}
    rig = a_rig(WITH_STEP)
    rig.payloads.missing |= needed
    assert rig.run(60).converged
    assert rig.payloads.missing == set()
    actions = [action for _, action, _ in rig.recorder.actions]
    assert actions == ["pull", "pull", "create", "start"]


def test_a_changed_script_is_a_new_container() -> None:
    """Given an engine with a step, when its script is edited, then it is replaced for that cause."""
    rig = a_rig(WITH_STEP)
    rig.run(30)
    rig.source.documents["overlays/step/s.sh"] = "false\n"
    assert rig.run(60).converged
    assert len(rig.containers("chat")) == 2
    causes = [event.cause for event in rig.recorder.events if event.kind == "ActionStarted" and event.message == "create"]
    assert causes[1].startswith("overlays.step: install_script ")


def test_a_container_is_looked_into_once() -> None:
    """Given an overlay with a sentinel, when the engine is ready, then it is looked for once, also by a later controller."""
    rig = a_rig(WITH_STEP)
    rig.run(120)
    (container,) = rig.running("chat")
    assert rig.texts.asked == [(container.id, "patched")]
    assert (condition(rig, "OverlayUnverified").status, condition(rig, "OverlayUnverified").reason) == (Truth.FALSE, "Found")
    again = rig.reborn()
    again.source.documents = dict(OVERLAYS)
    again.run(60)
    assert len(again.texts.asked) == 1
    assert condition(again, "OverlayUnverified").reason == "Found"


def test_a_missing_sentinel_is_a_condition_and_no_more() -> None:
    """Given an overlay that is not at work, when it was looked for, then the condition names it, once in the journal too."""
    rig = a_rig(WITH_STEP)
    rig.texts.absent.add("patched")
    assert rig.run(120).converged
    unverified = condition(rig, "OverlayUnverified")
    assert (unverified.status, unverified.reason) == (Truth.TRUE, "SentinelMissing")
    assert "overlay step is not at work" in unverified.message
    assert rig.kinds("chat").count("OverlayUnverified") == 1


def test_another_sentinel_is_looked_for_anew() -> None:
    """Given a look that failed, when the record is corrected, then the same container is looked into again."""
    rig = a_rig(WITH_STEP)
    rig.texts.absent.add("patched")
    rig.run(60)
    (before,) = rig.running("chat")
    rig.source.documents["overlays/step.yml"] = (STEP + HEAD).replace("sentinel: patched", "sentinel: really patched")
    rig.run(60)
    assert [c.id for c in rig.running("chat")] == [before.id]
    assert condition(rig, "OverlayUnverified").reason == "Found"


def test_a_container_that_cannot_tell_is_unknown() -> None:
    """Given an image without the tools, when it was looked into, then nothing is claimed, and it is not asked again."""
    rig = a_rig(WITH_STEP)
    rig.texts.unreadable["patched"] = "the container has no grep"
    rig.run(600)
    unverified = condition(rig, "OverlayUnverified")
    assert (unverified.status, unverified.reason) == (Truth.UNKNOWN, "NotReadable")
    assert "the container has no grep" in unverified.message
    assert len(rig.texts.asked) == 1


def test_a_look_that_failed_is_repeated_after_a_pause() -> None:
    """Given an engine that does not answer the look, when a minute has passed, then it is looked again."""
    rig = a_rig(WITH_STEP)
    rig.texts.fails = EngineUnreachable("no answer in time")
    rig.run(30)
    assert condition(rig, "OverlayUnverified").reason == "NotLookedYet"
    asked = len(rig.texts.asked)
    rig.texts.fails = None
    rig.run(20)
    assert len(rig.texts.asked) == asked == 1
    rig.run(60)
    assert condition(rig, "OverlayUnverified").reason == "Found"


@pytest.mark.parametrize("text", [BARE, WITH_FIX], ids=["no overlay", "no sentinel"])
def test_nothing_is_looked_for_where_nothing_is_recorded(text: str) -> None:
    """Given no overlay, or one without a sentinel, when the engine is ready, then no container is looked into."""
    rig = a_rig(text)
    assert rig.run(60).converged
    assert rig.texts.asked == []
    kinds = {c.type: c.reason for c in rig.instance("chat").conditions}
    assert kinds.get("OverlayUnverified") == (None if text == BARE else "NoSentinel")
