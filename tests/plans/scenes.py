"""The scenes whose plans are kept as text in `golden/`: one for each thing that a plan can say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from controller.model.desired import RigBoot, RunState, Suspension
from controller.model.observed import ContainerState, HandSignal, Listener, ServePhase
from controller.model.payload import Payload, PayloadNeed
from controller.model.profile import DialectName
from controller.model.reading import Known, Unknown
from controller.model.resolved import LiveSettings, ResolvedRig
from controller.model.rig import RigFacts
from controller.model.track import Backoff, Failure, Memory, Override, Restarts, Track
from tests.plans.build import IMAGE, KEEP_NONE, NOW, SHORT_DRAIN, Scene, foreign, probe, there, wanted

CHAT = there("chat")
DRAINING = Track(CHAT.id, 900.0, 900.0, "chat", ready_at=950.0, serving=True, probe_at=999.0, drain_began=995.0)
IDLE = Track(CHAT.id, 900.0, 900.0, "chat", ready_at=950.0, serving=True, probe_at=999.0, drain_began=995.0, idle_since=996.0)
FAILED = Failure("chat", "a" * 64, CHAT.id, "BootStalled", "no progress for 5m")


def first_boot() -> Scene:
    """Two wanted engines on an empty rig."""
    return Scene((wanted("chat"), wanted("embed", port=8011, gpus=(1,))))


def missing_image() -> Scene:
    """One image for two instances, not here."""
    image = "registry.test/x:1"
    both = (wanted("a", image=image, port=8001), wanted("b", image=image, port=8002))
    return Scene(both, images={image: Known(None)})


FETCH_KEY, OWN_KEY = "f" * 64, "e" * 64
FETCH = PayloadNeed("fix", Payload(FETCH_KEY), "run `steward overlays fetch fix`")
OWN = PayloadNeed("own", Payload(OWN_KEY))


def missing_overlay() -> Scene:
    """A serving engine; an edit puts on one overlay that has to be fetched, and one that Steward has itself."""
    new = replace(wanted("chat", "b", fields={"overlays.fix": "new"}), payloads=(FETCH, OWN))
    memory = Memory(fields={("chat", "a" * 64): {}})
    absent = {FETCH_KEY: Known(False), OWN_KEY: Known(False)}
    return Scene((new,), (CHAT,), ready=(CHAT,), memory=memory, payloads=dict(absent))


def overlay_of_nobody() -> Scene:
    """A first boot with an overlay whose files nobody can tell."""
    need = PayloadNeed("w4a8", None, "describe its files in a record of your own")
    return Scene((replace(wanted("chat"), payloads=(need,)),))


def overlays_unreadable() -> Scene:
    """The folder of overlays' files cannot be read."""
    return Scene((replace(wanted("chat"), payloads=(OWN,)),), payloads={OWN_KEY: Unknown("permission denied")})


def lost_overlay_of_a_stopped_container() -> Scene:
    """A container to be started whose overlay's files went with the state folder."""
    made = there("chat", state=ContainerState.CREATED)
    return Scene((replace(wanted("chat"), payloads=(FETCH,)),), (made,), payloads={FETCH_KEY: Known(False)})


def purged_image() -> Scene:
    """An edit to an image that its registry does not have any more, and that is not here."""
    image = "registry.test/gone:1"
    why = "its registry does not have it any more"
    new = replace(wanted("chat", "b", image=image, fields={"image": image}), unpullable=why)
    memory = Memory(fields={("chat", "a" * 64): {"image": IMAGE}})
    return Scene((new,), (CHAT,), ready=(CHAT,), memory=memory, images={image: Known(None)})


def unreadable_images() -> Scene:
    """The list of images could not be read."""
    return Scene((wanted("chat"),), images={IMAGE: Unknown("timed out after 10 s")})


def replaced() -> Scene:
    """A serving engine whose port was edited."""
    new = wanted("chat", "b", port=8020, fields={"port": "8020", "image": IMAGE})
    memory = Memory(fields={("chat", "a" * 64): {"port": "8010", "image": IMAGE}})
    return Scene((new,), (CHAT,), ready=(CHAT,), memory=memory)


def draining() -> Scene:
    """The new container exists, the old one has two requests open."""
    new = there("chat", "b", ContainerState.CREATED, generation=2)
    tracks = {CHAT.id: DRAINING}
    instance = wanted("chat", "b", live=SHORT_DRAIN)
    return Scene((instance,), (CHAT, new), tracks=tracks, probes={CHAT.id: probe(at=999.0, running=2)})


def drained() -> Scene:
    """The same, idle for long enough."""
    new = there("chat", "b", ContainerState.CREATED, generation=2)
    return Scene(
        (wanted("chat", "b", live=SHORT_DRAIN),), (CHAT, new), tracks={CHAT.id: IDLE}, probes={CHAT.id: probe(at=999.0)}
    )


def generic_tenant() -> Scene:
    """A generic tenant counts no requests and gets its TERM at once."""
    instance = wanted("chat", "b", dialect=DialectName.GENERIC)
    return Scene((instance,), (CHAT,), ready=(CHAT,))


def booting() -> Scene:
    """An engine that loads."""
    return Scene((wanted("chat"),), (CHAT,), probes={CHAT.id: probe(ServePhase.LOADING, detail="Loading model")})


def nothing_to_do() -> Scene:
    """All as it should be."""
    return Scene((wanted("chat"),), (CHAT,), ready=(CHAT,))


def orphan() -> Scene:
    """An instance that left the estate while another goes on."""
    other = there("other", port=8050)
    return Scene((wanted("other", port=8050),), (CHAT, other), ready=(CHAT, other))


def orphan_last() -> Scene:
    """An orphan holds the card of a new instance: its stop comes first, its removal last."""
    old = there("old", port=8001, gpus=(0,))
    return Scene((wanted("new", port=8002, gpus=(0,)),), (old,))


def swap() -> Scene:
    """Two engines exchange their cards."""
    a, b = there("a", port=8001, gpus=(0,)), there("b", port=8002, gpus=(1,))
    wishes = (wanted("a", "b", port=8001, gpus=(1,)), wanted("b", "b", port=8002, gpus=(0,)))
    return Scene(wishes, (a, b), ready=(a, b))


def unknown_engine() -> Scene:
    """Docker did not answer."""
    return Scene((wanted("chat"),), Unknown("timed out after 10 s"))


def unknown_cards() -> Scene:
    """No driver: what runs stays, what is new waits, what needs no card goes on."""
    runs = there("runs", port=8001, gpus=(0,))
    wishes = (
        wanted("runs", port=8001, gpus=(0,), bound=False),
        wanted("new", port=8002, gpus=(1,), bound=False),
        wanted("cpu", port=8003),
    )
    return Scene(wishes, (runs,), ready=(runs,), cards=RigFacts(Unknown("driver not loaded")))


def stopped_in_file() -> Scene:
    """`state: stopped`."""
    return Scene((wanted("chat", state=RunState.STOPPED),), (CHAT,), ready=(CHAT,))


def stopped_by_person() -> Scene:
    """`steward stop`."""
    memory = Memory(overrides={"chat": Override("chat", "stop", None, "cleaning", "ada", 0.0)})
    return Scene((wanted("chat"),), (CHAT,), ready=(CHAT,), memory=memory)


def expired_stop() -> Scene:
    """A stop whose time is over."""
    ended = there("chat", state=ContainerState.EXITED)
    memory = Memory(overrides={"chat": Override("chat", "stop", NOW.wall - 1, "cleaning", "ada", 0.0)})
    return Scene((wanted("chat"),), (ended,), memory=memory)


def stalled_boot() -> Scene:
    """A boot that failed and still runs is stopped; nothing else is planned."""
    return Scene((wanted("chat"),), (CHAT,), memory=Memory(failures={("chat", "a" * 64): FAILED}))


def failed_spec_keeps_old() -> Scene:
    """The new spec failed before the old engine was stopped: it serves on."""
    new = there("chat", "b", ContainerState.EXITED, generation=2)
    memory = Memory(failures={("chat", "b" * 64): FAILED})
    return Scene((wanted("chat", "b"),), (CHAT, new), ready=(CHAT,), memory=memory)


def crashed() -> Scene:
    """An engine that died a moment ago and waits for its pause."""
    ended = there("chat", state=ContainerState.EXITED, exit_code=1)
    memory = Memory(restarts={"chat": Restarts("a" * 64, 2, NOW.wall - 5, NOW.wall + 15, "EngineDead")})
    return Scene((wanted("chat"),), (ended,), memory=memory)


def stopped_by_hand() -> Scene:
    """`docker stop` two seconds ago."""
    ended = there("chat", state=ContainerState.EXITED)
    memory = Memory(off_since={ended.id: NOW.mono - 2})
    return Scene((wanted("chat"),), (ended,), memory=memory, hands={ended.id: HandSignal(ended.id, "kill", NOW.wall - 5)})


def meddled() -> Scene:
    """Paused, renamed and with another restart policy, longer ago than the grace."""
    odd = there("chat", state=ContainerState.PAUSED, called="mine", policy="always")
    return Scene((wanted("chat"),), (odd,), ready=(odd,), memory=Memory(off_since={odd.id: NOW.mono - 10}))


def foreign_name() -> Scene:
    """A foreign container has the wanted name."""
    return Scene((wanted("chat"),), (foreign("chat-aaaaaaaa-1"),))


def foreign_port() -> Scene:
    """A program holds the new port: the old engine serves on."""
    listener = Listener("0.0.0.0", 8020, 4242, "nginx")
    return Scene((wanted("chat", "b", port=8020),), (CHAT,), ready=(CHAT,), listeners=(listener,))


def port_of_foreign_container() -> Scene:
    """A foreign container publishes the wanted port."""
    return Scene((wanted("chat"),), (foreign("web", 8010),))


def port_of_a_leaving_instance() -> Scene:
    """An orphan holds the wanted port: its stop comes first."""
    return Scene((wanted("new"),), (CHAT,))


def held_card() -> Scene:
    """A failed instance of another spec still holds the card."""
    holder = there("holder", port=8001, gpus=(0,))
    failed = Failure("holder", "b" * 64, holder.id, "BootStalled", "no progress")
    memory = Memory(failures={("holder", "b" * 64): failed})
    wishes = (wanted("holder", "b", port=8001, gpus=(1,)), wanted("new", port=8002, gpus=(0,)))
    return Scene(wishes, (holder,), ready=(holder,), memory=memory)


def dependency() -> Scene:
    """b waits for a."""
    return Scene((wanted("b", port=8002, live=LiveSettings(depends_on=("a",))), wanted("a", port=8001)))


def suspended() -> Scene:
    """Observed and reported, not acted on."""
    live = LiveSettings(suspend=Suspension.model_validate({"reason": "benchmarks", "until": "2027-01-16T00:00:00Z"}))
    return Scene((wanted("chat", live=live),))


def backoff() -> Scene:
    """The registry refused a moment ago."""
    image = "registry.test/x:1"
    memory = Memory(backoffs={f"pull:{image}": Backoff(NOW.mono + 8, 3, "429 too many requests")})
    return Scene((wanted("chat", image=image),), images={image: Known(None)}, memory=memory)


def boot_slots() -> Scene:
    """Two boot, a third is created and waits for a slot."""
    a, b = there("a", port=8001), there("b", port=8002)
    c = there("c", state=ContainerState.CREATED)
    return Scene((wanted("a", port=8001), wanted("b", port=8002), wanted("c")), (a, b, c))


def stagger() -> Scene:
    """The last start was five seconds ago."""
    made = there("chat", state=ContainerState.CREATED)
    rig = ResolvedRig(boot=RigBoot(parallel=2), stagger=15.0)
    return Scene((wanted("chat"),), (made,), memory=Memory(last_start=NOW.mono - 5), rig=rig)


def leftovers() -> Scene:
    """Old containers: one that never ran, one that was ready, a newer one that failed; the proven one is kept."""
    proven = there("chat", "b", ContainerState.EXITED, generation=2)
    failed = there("chat", "c", ContainerState.EXITED, generation=3)
    unborn = there("chat", "d", ContainerState.CREATED, generation=4)
    now = there("chat", "a", generation=5)
    return Scene((wanted("chat"),), (proven, failed, unborn, now), ready=(now,), memory=Memory(ready_marks={proven.id: 1.0}))


def keep_none() -> Scene:
    """`rollback.keep: 0`."""
    old = there("chat", "b", ContainerState.EXITED, generation=1)
    now = there("chat", "a", generation=2)
    return Scene((wanted("chat", live=KEEP_NONE),), (old, now), ready=(now,))


def two_running() -> Scene:
    """Somebody started the kept container by hand."""
    old = there("chat", "b", generation=1, port=8011)
    now = there("chat", "a", generation=2)
    return Scene((wanted("chat"),), (old, now), ready=(now,))


def other_rig() -> Scene:
    """Containers of another rig are none of ours."""
    return Scene((wanted("chat", port=8020),), (there("chat", rig="elsewhere"),))


SCENES: dict[str, Callable[[], Scene]] = {
    name: made for name, made in dict(globals()).items() if getattr(made, "__annotations__", {}).get("return") == "Scene"
}
