"""What happens to a rig from outside: edits of its estate, hands, faults, deaths of its controller; and what always holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from controller.errors import EngineUnreachable
from controller.simulation.faults import Fault
from tests.loop.rig import MemoryRig, entry, estate

CALLS = ("create", "start", "stop", "remove", "list", "inspect")
HANDS = ("kill", "stop", "pause", "rename", "remove", "crash")
FOREIGN = "foreign"
"""The name of a container that is not ours and must stay as it is."""


@dataclass(frozen=True)
class Wish:
    """What a version of the estate says of one instance; None in its place: it is not there."""

    context: int
    card: int | None
    stopped: bool


Wishes = Mapping[str, Wish | None]


@dataclass(frozen=True)
class Accident:
    """One thing that goes wrong: `hand` (who does what), `fault` (which call, how), `stale`, `silent`, `cards` or `reborn`.

    `how` of a fault is `before`, `after` (a lost reply), `hangs` or `hangs after`.
    """

    kind: str
    what: str = ""
    how: str = ""
    times: int = 1


def text(wanted: Wishes) -> str:
    """The estate that says so; removals are always confirmed, a card that two want goes to the first."""
    entries, taken = [], set()
    for number, (name, wish) in enumerate(wanted.items()):
        if wish is None:
            continue
        card = wish.card if wish.card not in taken else None
        taken.add(card)
        more = f"set: {{max_model_len: {wish.context}}}, state: {'stopped' if wish.stopped else 'running'}"
        entries.append(entry(name, 8000 + number, gpus=f"[{card}]" if card is not None else "[]", more=more))
    return f"allow_prune: [{', '.join(wanted)}]\n" + estate(*entries)


def meddle(rig: MemoryRig, accident: Accident) -> MemoryRig:
    """Let one accident happen; the controller that goes on."""
    match accident.kind:
        case "hand":
            for container in rig.running(accident.how):
                extra = (f"moved-{rig.engine.cells.events_ever}",) if accident.what == "rename" else ()
                getattr(rig.hand, accident.what)(container.id, *extra)
        case "fault":
            takes_s = 45.0 if "hangs" in accident.how else 0.0
            error, after = EngineUnreachable("lost"), "after" in accident.how
            rig.engine.faults.append(Fault(accident.what, error, after=after, times=accident.times, takes_s=takes_s))
        case "stale":
            rig.engine.faults.append(Fault("list", stale=True, times=accident.times))
        case "silent":
            rig.engine.silent_until = math.inf
        case "cards":
            rig.gpus.fails = "driver not loaded"
        case "reborn":
            return rig.reborn(keep_store=accident.what == "with its store")
    return rig


def calm(rig: MemoryRig) -> None:
    """Nothing goes wrong any more."""
    rig.engine.faults.clear()
    rig.engine.silent_until = 0.0
    rig.gpus.fails = ""


def check(rig: MemoryRig) -> None:
    """What holds at every moment."""
    containers = rig.seen()
    running = [c for c in containers if c.running and c.identity]
    doubled = [name for name, count in Counter(c.identity.instance for c in running if c.identity).items() if count > 1]
    assert doubled == [], "two containers of one instance run"
    cards = [uuid for c in running if c.identity for uuid in c.identity.gpus]
    assert len(cards) == len(set(cards)), "a card is claimed twice"
    assert any(c.name == FOREIGN and c.running for c in containers), "a foreign container was touched"


def any_wishes(chance: Random, names: tuple[str, ...]) -> dict[str, Wish | None]:
    """Some estate."""
    return {
        name: None
        if chance.random() < 0.2
        else Wish(chance.choice([4096, 8192]), chance.choice([None, 0, 1, 2, 3]), stopped=chance.random() < 0.2)
        for name in names
    }


def any_accident(chance: Random, names: tuple[str, ...]) -> Accident:
    """Some accident."""
    return chance.choice(
        (
            Accident("hand", chance.choice(HANDS), chance.choice(names)),
            Accident("fault", chance.choice(CALLS), chance.choice(["before", "after", "hangs", "hangs after"])),
            Accident("stale", times=chance.randint(1, 5)),
            Accident("silent"),
            Accident("cards"),
            Accident("reborn", chance.choice(["with its store", "without"])),
        )
    )
