"""The fold of observations: what makes a boot ready or failed, what counts as a crash, and what changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.model.desired import Boot, Health, Restart
from controller.model.observed import Completion, Container, ContainerState, HandSignal, LogTail, Probe, ServePhase
from controller.model.profile import DialectName
from controller.model.reading import Unknown
from controller.model.resolved import LiveSettings, Readiness, Serving
from controller.model.track import Memory, Restarts, Track
from controller.rollout.lifecycle import advance, note_drains
from tests.plans.build import NOW, Scene, probe, there, wanted

BOOTING = there("chat")
TRACK = Track(BOOTING.id, began=900.0, progress_at=990.0, instance="chat", progress_mark="serving||")


def scene(answer: Probe | None, track: Track = TRACK, container: Container = BOOTING, **more: object) -> Scene:
    """One instance with one container and perhaps an answer."""
    found = Scene(
        (wanted("chat"),), (container,), probes={container.id: answer} if answer else {}, tracks={container.id: track}
    )
    return replace(found, **more)  # type: ignore[arg-type]


def test_ready_needs_a_completion() -> None:
    """Given health and models are fine, when the first completion fails, then the boot goes on; when it works, it is ready."""
    failing = replace(probe(), completion=Completion(False, "no tokens"))
    assert advance(scene(failing).situation(), 600).tracks[BOOTING.id].ready_at is None
    fold = advance(scene(probe()).situation(), 600)
    assert fold.tracks[BOOTING.id].ready_at == NOW.mono
    assert [v.kind for v in fold.verdicts] == ["ready"]


@pytest.mark.parametrize("phase", [ServePhase.REFUSED, ServePhase.LOADING, ServePhase.SILENT, ServePhase.FAILING])
def test_a_boot_is_not_ready_in_other_phases(phase: ServePhase) -> None:
    """Given an engine that does not answer 200, when it is folded in, then it still boots and nothing is concluded."""
    fold = advance(scene(probe(phase)).situation(), 600)
    assert fold.tracks[BOOTING.id].ready_at is None
    assert fold.verdicts == ()


def test_a_name_that_is_not_served_is_not_ready() -> None:
    """Given a healthy engine that does not list the wanted name, when it is folded in, then it is not ready."""
    assert advance(scene(replace(probe(), served=False)).situation(), 600).tracks[BOOTING.id].ready_at is None


def test_stall_is_measured_from_the_last_sign_of_life() -> None:
    """Given a boot of ten minutes whose log grew just now, when it is folded in, then it goes on."""
    old = replace(TRACK, began=NOW.mono - 600, progress_at=NOW.mono - 400)
    moving = scene(probe(ServePhase.REFUSED), old)
    situation = moving.situation()
    moved = replace(situation, observed=replace(situation.observed, logs={BOOTING.id: LogTail(("shard 3 of 8",), "3")}))
    assert advance(moved, 600).verdicts == ()


def test_a_boot_without_progress_fails_with_its_phase() -> None:
    """Given nothing moved for longer than boot.stall, when it is folded in, then the boot failed as BootStalled."""
    quiet = replace(TRACK, began=NOW.mono - 310, progress_at=NOW.mono - 301, progress_mark="refused||")
    verdicts = advance(scene(replace(probe(ServePhase.REFUSED), detail=""), quiet).situation(), 600).verdicts
    assert [(v.kind, v.failure.reason if v.failure else "") for v in verdicts] == [("boot-failed", "BootStalled")]


def test_a_boot_over_its_cap_fails_although_it_moves() -> None:
    """Given progress a moment ago, when the boot is older than boot.cap, then it failed as BootTimeout."""
    live = LiveSettings(boot=Boot.model_validate({"cap": "60s"}))
    given = replace(scene(probe(ServePhase.LOADING)), instances=(wanted("chat", live=live),))
    verdicts = advance(given.situation(), 600).verdicts
    assert [v.failure.reason for v in verdicts if v.failure] == ["BootTimeout"]


def test_an_exit_during_boot_is_a_failure_with_the_last_line() -> None:
    """Given a container that ended before it was ready, when it is folded in, then the failure tells code and last line."""
    ended = there("chat", state=ContainerState.EXITED, exit_code=3)
    situation = scene(None, TRACK, ended).situation()
    logged = replace(situation, observed=replace(situation.observed, logs={ended.id: LogTail(("loading", "good bye"), "2")}))
    (verdict,) = advance(logged, 600).verdicts
    assert verdict.kind == "boot-failed"
    assert verdict.failure is not None
    assert "code 3" in verdict.failure.message
    assert "good bye" in verdict.failure.message
    assert verdict.failure.log == ("loading", "good bye")


READY = replace(TRACK, ready_at=950.0, serving=True)


def test_a_crash_after_ready_is_restarted_later() -> None:
    """Given an engine that was ready, when it ends by itself with code 0, then a restart is due after the first pause."""
    ended = there("chat", state=ContainerState.EXITED)
    (verdict,) = advance(scene(None, READY, ended).situation(), 600).verdicts
    assert verdict.kind == "exited"
    assert verdict.restarts == Restarts(
        "a" * 64, 1, NOW.wall, NOW.wall + 10.0, verdict.restarts.reason if verdict.restarts else ""
    )


@pytest.mark.parametrize(("earlier", "pause"), [(1, 20.0), (3, 80.0), (20, 900.0)])
def test_crashes_in_a_row_wait_longer_up_to_the_cap(earlier: int, pause: float) -> None:
    """Given earlier exits in a row, when it ends again, then the pause doubles for each, at most the cap."""
    memory = Memory(restarts={"chat": Restarts("a" * 64, earlier, 0.0, 0.0)})
    ended = there("chat", state=ContainerState.EXITED)
    (verdict,) = advance(scene(None, READY, ended, memory=memory).situation(), 600).verdicts
    assert verdict.restarts is not None
    assert verdict.restarts.next_at - NOW.wall == pause


def test_a_crash_is_seen_after_the_secrets_key_was_lost() -> None:
    """Given a container hashed with an earlier key of the secrets, when it ends by itself, then its restart has a pause."""
    ended = there("chat", state=ContainerState.EXITED)
    assert ended.identity is not None
    ended = replace(ended, identity=replace(ended.identity, spec_hash="f" * 64, spec_hash_plain="a" * 64, secret_key="old"))
    (verdict,) = advance(scene(None, replace(READY, container=ended.id), ended).situation(), 600).verdicts
    assert verdict.kind == "exited"


def test_long_readiness_resets_the_count() -> None:
    """Given ten minutes of readiness, when it ends, then the count begins again at one."""
    memory = Memory(restarts={"chat": Restarts("a" * 64, 5, 0.0, 0.0)})
    ended = there("chat", state=ContainerState.EXITED)
    steady = replace(READY, ready_at=NOW.mono - 601)
    (verdict,) = advance(scene(None, steady, ended, memory=memory).situation(), 600).verdicts
    assert verdict.restarts is not None
    assert verdict.restarts.count == 1


def test_a_stop_by_hand_or_by_us_is_no_crash() -> None:
    """Given evidence of a hand's stop, or our own stop, when the container is exited, then nothing is held against it."""
    ended = there("chat", state=ContainerState.EXITED)
    by_hand = scene(None, READY, ended, hands={ended.id: HandSignal(ended.id, "kill", NOW.wall - 6)})
    fold = advance(by_hand.situation(), 600)
    assert fold.verdicts == ()
    assert fold.off_since == {ended.id: NOW.mono}
    ours = scene(None, READY, ended, memory=Memory(stops=frozenset({ended.id})))
    assert advance(ours.situation(), 600).verdicts == ()


def test_an_unreadable_engine_changes_nothing() -> None:
    """Given the container list could not be read, when it is folded in, then tracks stay and nothing is concluded."""
    blind = Scene((wanted("chat"),), Unknown("timed out"), tracks={BOOTING.id: READY})
    fold = advance(blind.situation(), 600)
    assert fold.tracks == {BOOTING.id: READY}
    assert fold.verdicts == ()


def test_serving_is_lost_only_after_all_misses_and_comes_back_at_once() -> None:
    """Given health.misses of 3, when two probes fail it still serves, with the third it does not, one good answer heals."""
    live = LiveSettings(health=Health(misses=3))
    track = READY
    seen = []
    for at in (1001.0, 1002.0, 1003.0):
        given = scene(probe(ServePhase.SILENT, at=at), track)
        track = advance(replace(given, instances=(wanted("chat", live=live),)).situation(), 600).tracks[BOOTING.id]
        seen.append(track.serving)
    assert seen == [True, True, False]
    healed = advance(scene(probe(at=1004.0), track).situation(), 600).tracks[BOOTING.id]
    assert healed.serving
    assert healed.misses == 0


def test_one_probe_counts_once() -> None:
    """Given the same answer in two passes, when both are folded in, then it is one miss."""
    given = scene(probe(ServePhase.SILENT, at=1001.0), READY)
    once = advance(given.situation(), 600).tracks[BOOTING.id]
    twice = advance(replace(given, tracks={BOOTING.id: once}).situation(), 600).tracks[BOOTING.id]
    assert twice.misses == 1


def test_paused_time_is_no_stall() -> None:
    """Given a boot that was paused by hand, when time passes, then its stall clock stands still."""
    paused = there("chat", state=ContainerState.PAUSED)
    quiet = replace(TRACK, progress_at=NOW.mono - 1000)
    fold = advance(scene(None, quiet, paused).situation(), 600)
    assert fold.tracks[paused.id].progress_at == NOW.mono
    assert fold.verdicts == ()


def test_a_generic_tenant_is_ready_by_its_readiness_alone() -> None:
    """Given a generic tenant, when it answers once, then it is ready without any completion."""
    tenant = replace(
        wanted("chat", dialect=DialectName.GENERIC),
        serving=Serving(DialectName.GENERIC, 8010, readiness=Readiness("http", "/")),
    )
    given = replace(scene(replace(probe(), completion=None)), instances=(tenant,))
    assert advance(given.situation(), 600).tracks[BOOTING.id].ready_at == NOW.mono


def test_readiness_of_an_earlier_life_is_kept() -> None:
    """Given a ready mark in the store, when a new controller first sees the container, then it does not boot again."""
    given = Scene((wanted("chat"),), (BOOTING,), memory=Memory(ready_marks={BOOTING.id: 1.0}))
    fold = advance(given.situation(), 600)
    assert fold.tracks[BOOTING.id].ready_at == NOW.mono
    assert fold.tracks[BOOTING.id].serving, "it is believed until it misses its probes"
    assert fold.verdicts == ()


def test_a_drain_clock_starts_once_and_is_forgotten() -> None:
    """Given a planned drain, when it is noted twice, then the first time stays; when it is not planned, it is gone."""
    first = note_drains({BOOTING.id: READY}, frozenset({BOOTING.id}), NOW)
    later = note_drains(first, frozenset({BOOTING.id}), replace(NOW, mono=NOW.mono + 5))
    assert later[BOOTING.id].drain_began == NOW.mono
    assert note_drains(later, frozenset(), NOW)[BOOTING.id].drain_began is None


def test_restart_settings_of_the_instance_count() -> None:
    """Given a short backoff in the estate, when the engine dies, then that pause is taken."""
    live = LiveSettings(restart=Restart.model_validate({"backoff": "500ms"}))
    ended = there("chat", state=ContainerState.EXITED)
    given = replace(scene(None, READY, ended), instances=(wanted("chat", live=live),))
    (verdict,) = advance(given.situation(), 600).verdicts
    assert verdict.restarts is not None
    assert verdict.restarts.next_at == NOW.wall + 0.5
