"""One controller after another over the same engines."""

from __future__ import annotations

import pytest

from controller.model.status import State
from tests.loop.rig import MemoryRig, entry, estate

ONE = estate(entry("chat", 8010))
TWO = estate(entry("chat", 8010), entry("embed", 8011))


@pytest.mark.parametrize("keep_store", [True, False], ids=["store", "lost-store"])
def test_a_new_controller_moves_no_healthy_engine(keep_store: bool) -> None:
    """Given ready engines, when the controller is replaced, with or without its store, then no container changes."""
    rig = MemoryRig(TWO)
    rig.run(30)
    ids = [rig.running(n)[0].id for n in ("chat", "embed")]
    again = rig.reborn(keep_store=keep_store)
    status = again.run(60)
    assert status.converged
    assert [again.running(n)[0].id for n in ("chat", "embed")] == ids
    assert again.recorder.actions == []
    assert any(c.type == "HistoryLost" for c in status.conditions) == (not keep_store)


def test_an_invalid_file_at_start_keeps_the_accepted_revision_in_force() -> None:
    """Given an accepted revision in the store, when a new controller finds a broken file, then it still corrects drift."""
    rig = MemoryRig(ONE)
    rig.run(30)
    rig.source.text = "estate: ["
    again = rig.reborn()
    again.source.text = "estate: ["
    again.hand.remove(again.running("chat")[0].id)
    again.run(60)
    assert len(again.running("chat")) == 1


def test_an_adopted_engine_is_ready_from_the_first_pass() -> None:
    """Given a ready engine, when a new controller looks for the first time, then it does not call it Degraded."""
    rig = MemoryRig(ONE)
    rig.run(60)
    again = rig.reborn()
    again.step()
    assert again.instance("chat").ready
    assert again.instance("chat").state is State.READY
