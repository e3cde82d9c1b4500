"""The real binding on machines as people have them: what cannot be read is Unknown with its reason, never zero."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from controller.model.reading import Known, Unknown
from controller.model.rig import Card
from tests.nvml.shim import ShimGpus
from tests.nvml.state import (
    MIB,
    ShimCard,
    ShimState,
    data_centre,
    driver_not_loaded,
    geforce,
    h100,
    not_root,
    rtx_3090,
    wsl2,
)

pytestmark = pytest.mark.nvml

Start = Callable[..., ShimGpus]
OWN_NAMESPACE = "pid:[4026532999]"


def reason(reading: object) -> str:
    """Why a reading is Unknown."""
    assert isinstance(reading, Unknown), reading
    return reading.reason


def unknown_fields(card: Card) -> set[str]:
    """Names of the readings that could not be had."""
    return {name for name in Card.__slots__ if isinstance(getattr(card, name), Unknown)}


def test_data_centre_cards_answer_everything(shim: Start) -> None:
    """Given cards that know every reading, then none is Unknown and each value has its unit."""
    busy = h100(0, used_mib=40000, compute=f"812:{39000 * MIB}", power="412500", busy="93", temperature="66")
    gpus = shim(data_centre().with_card(0, busy))
    gpus.process(812, "vllm")

    facts = gpus.read()

    assert isinstance(facts.cards, Known)
    card = facts.cards.value[0]
    assert unknown_fields(card) == set()
    assert (card.index, card.uuid, card.name) == (0, busy.uuid, "NVIDIA H100 80GB HBM3")
    assert card.memory_total == Known(81559 * MIB)
    assert card.memory_used == Known(40551 * MIB), "what the driver reserves is not free"
    assert (card.power_watts, card.power_limit_watts) == (Known(412.5), Known(700.0))
    assert (card.temperature_celsius, card.utilization) == (Known(66), Known(0.93))
    assert (card.compute_capability, card.persistence, card.healthy) == (Known(9.0), Known(True), Known(True))
    assert isinstance(card.processes, Known)
    assert [(p.pid, p.used_bytes, p.name) for p in card.processes.value] == [(812, Known(39000 * MIB), "vllm")]
    assert (facts.driver, facts.cuda, facts.origin) == (Known("580.65.06"), Known("13.0"), "auto")


def test_pcie_link_is_read_beside_its_maximum(shim: Start) -> None:
    """Given a card in a narrow slot, then the present link and the possible one are both told."""
    (card,) = shim(ShimState((rtx_3090(0, generation="1", width="4"),))).cards()

    assert (card.pcie_generation, card.pcie_width) == (Known(1), Known(4))
    assert (card.pcie_max_generation, card.pcie_max_width) == (Known(4), Known(16))


def test_geforce_readings_that_do_not_exist_are_unknown_alone(shim: Start) -> None:
    """Given a small desktop card without power readings, then only these two are Unknown and the card counts as healthy."""
    _, small = shim(geforce()).cards()

    assert unknown_fields(small) == {"power_watts", "power_limit_watts"}
    assert "does not offer" in reason(small.power_watts)
    assert small.healthy == Known(True)
    assert small.compute_capability == Known(6.1)


def test_wsl2_tells_who_but_not_how_much(shim: Start) -> None:
    """Given Windows as the owner of the card, then a process is listed and its memory is Unknown, never zero."""
    gpus = shim(wsl2())
    gpus.process(4711, "python3")

    (card,) = gpus.cards()

    assert isinstance(card.processes, Known)
    (process,) = card.processes.value
    assert (process.pid, process.name) == (4711, "python3")
    assert "does not tell the memory" in reason(process.used_bytes)
    assert "does not offer" in reason(card.persistence)
    assert "does not offer" in reason(card.last_xid)


@pytest.mark.parametrize("compute", ["", f"5150:{20000 * MIB}"], ids=["nobody listed", "ids of the host"])
def test_container_without_host_pids_cannot_list_processes(shim: Start, compute: str) -> None:
    """Given a reader in a namespace of its own, then an empty or unresolvable list is Unknown, never free."""
    gpus = shim(ShimState((rtx_3090(0, used_mib=20000, compute=compute),)))
    gpus.namespace(OWN_NAMESPACE)

    (card,) = gpus.cards()

    assert "--pid=host" in reason(card.processes)
    assert card.memory_used == Known(20320 * MIB)


def test_container_that_holds_the_engines_can_list_them(shim: Start) -> None:
    """Given a system container in which the engines run too, then ids that exist here are believed."""
    gpus = shim(ShimState((rtx_3090(0, used_mib=20000, compute=f"77:{20000 * MIB}"),)))
    gpus.namespace(OWN_NAMESPACE)
    gpus.process(77, "llama-server")

    (card,) = gpus.cards()

    assert isinstance(card.processes, Known)
    assert [process.name for process in card.processes.value] == ["llama-server"]


def test_user_without_rights_misses_only_the_limit(shim: Start) -> None:
    """Given a user who may not see the power limit, then the draw is known and the limit is Unknown."""
    (card,) = shim(not_root()).cards()

    assert unknown_fields(card) == {"power_limit_watts"}
    assert "may not read" in reason(card.power_limit_watts)


def test_process_that_computes_and_draws_counts_once(shim: Start) -> None:
    """Given one process in both lists, then it stands once, with its larger size, beside one that only draws."""
    card = rtx_3090(0, used_mib=3000, compute=f"10:{2000 * MIB}", graphics=f"10:{1500 * MIB} 11:{300 * MIB}")
    (read,) = shim(ShimState((card,))).cards()

    assert isinstance(read.processes, Known)
    assert [(p.pid, p.used_bytes) for p in read.processes.value] == [(10, Known(2000 * MIB)), (11, Known(300 * MIB))]


def test_unreadable_process_list_is_not_an_empty_one(shim: Start) -> None:
    """Given a driver that refuses the list, then the processes are Unknown while all else stands."""
    state = ShimState((rtx_3090(0),)).with_extra("fault.0.nvmlDeviceGetComputeRunningProcesses_v3 4")
    (card,) = shim(state).cards()

    assert unknown_fields(card) == {"processes"}


def test_lost_card_stays_on_the_list(shim: Start) -> None:
    """Given a card that falls off the bus while Steward runs, then it stays under its UUID, unhealthy, with nothing made up."""
    gpus = shim(geforce())
    _, before = gpus.cards()

    gpus.become(geforce().with_extra("fault.1 15"))
    healthy, lost = gpus.cards()

    assert healthy.healthy == Known(True)
    assert (lost.index, lost.uuid, lost.name) == (1, before.uuid, before.name)
    assert lost.healthy == Known(False)
    assert "lost" in reason(lost.memory_used)
    assert unknown_fields(lost) == unknown_fields(before) | {
        name for name in Card.__slots__ if isinstance(getattr(before, name), Known) and name != "healthy"
    }


def test_lost_card_that_was_never_seen_is_a_note(shim: Start) -> None:
    """Given a card that is lost before the first read, then the others are listed and a note says what is missing."""
    facts = shim(geforce().with_extra("fault.1 15")).read()

    assert isinstance(facts.cards, Known)
    assert [card.index for card in facts.cards.value] == [0]
    assert any("card 1" in note and "lost" in note for note in facts.notes)


def test_card_that_still_tells_its_name_but_is_lost(shim: Start) -> None:
    """Given a driver that remembers the UUID while every live question fails, then the card is unhealthy."""
    faults = [f"fault.0.{name} 15" for name in ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetTemperatureV")]
    (card,) = shim(ShimState((rtx_3090(0),)).with_extra(*faults)).cards()

    assert card.healthy == Known(False)
    assert card.power_watts == Known(23.5)
    assert "lost" in reason(card.memory_total)


def test_card_that_comes_back_is_healthy_again(shim: Start) -> None:
    """Given a lost card that was reset, then the next read knows it as before."""
    gpus = shim(geforce())
    before = gpus.cards()
    gpus.become(geforce().with_extra("fault.1 15"))
    gpus.read()

    gpus.become(geforce())

    assert gpus.cards() == before


def test_driver_not_loaded_makes_the_cards_unknown(shim: Start) -> None:
    """Given a machine whose kernel module is missing, then the cards are Unknown and the reason says so."""
    facts = shim(driver_not_loaded()).read()

    assert reason(facts.cards) == "the NVIDIA driver is not loaded"
    assert reason(facts.driver) == reason(facts.cuda) == "the NVIDIA driver is not loaded"


def test_machine_without_the_library(shim: Start) -> None:
    """Given no NVIDIA library at all, then the cards are Unknown, not an empty list."""
    assert "libnvidia-ml.so.1" in reason(shim(None).read().cards)


def test_driver_loaded_later_is_found(shim: Start) -> None:
    """Given a driver that is loaded after Steward began, then the next read has the cards."""
    gpus = shim(driver_not_loaded())
    assert isinstance(gpus.read().cards, Unknown)

    gpus.become(geforce())

    assert len(gpus.cards()) == 2


def test_driver_unloaded_under_an_open_session(shim: Start) -> None:
    """Given a session that ends between two reads, then the cards are Unknown until the driver is back."""
    gpus = shim(geforce())
    before = gpus.cards()
    gpus.become(geforce().with_extra("fault.nvmlDeviceGetCount_v2 1", "fault.nvmlInitWithFlags 9"))
    assert reason(gpus.read().cards) == "the NVIDIA driver is not loaded"

    gpus.become(geforce())

    assert gpus.cards() == before


def test_session_that_ends_amid_the_readings_is_not_half_a_rig(shim: Start) -> None:
    """Given a driver that goes away after it named the cards, then no card is told with made-up holes."""
    gone = geforce().with_extra("fault.nvmlDeviceGetMemoryInfo_v2 1")
    assert isinstance(shim(gone).read().cards, Unknown)


def test_xid_is_told_to_every_later_read(shim: Start) -> None:
    """Given a watched card that reports two faults, then the last code stays readable and the other card has had none."""
    gpus = shim(geforce())
    assert [card.last_xid for card in gpus.cards()] == [Known(None), Known(None)]

    gpus.become(geforce().with_extra("xid.1 13 31"))

    assert [card.last_xid for card in gpus.cards()] == [Known(None), Known(31)]
    assert [card.last_xid for card in gpus.cards()] == [Known(None), Known(31)]


def test_xid_from_before_the_watch_is_not_told(shim: Start) -> None:
    """Given a fault that came before the first read, then the card has had none since it is watched."""
    gpus = shim(geforce().with_extra("xid.0 48"))
    assert [card.last_xid for card in gpus.cards()] == [Known(None), Known(None)]

    gpus.become(geforce().with_extra("xid.0 48 94"))

    assert gpus.cards()[0].last_xid == Known(94)


def test_card_is_lost_with_its_xid(shim: Start) -> None:
    """Given a card that reports Xid 79 and falls off the bus, then the lost card tells the code that it was lost with."""
    gpus = shim(geforce())
    gpus.read()

    gpus.become(geforce().with_extra("xid.1 79", "fault.1 15"))
    _, lost = gpus.cards()

    assert (lost.healthy, lost.last_xid) == (Known(False), Known(79))


def test_xid_outlives_a_reload_of_the_driver(shim: Start) -> None:
    """Given a session that ends after a fault, then the code is kept and faults of the next session are seen."""
    gpus = shim(geforce())
    gpus.read()
    gpus.become(geforce().with_extra("xid.0 13"))
    gpus.read()
    gpus.become(driver_not_loaded())
    assert isinstance(gpus.read().cards, Unknown)

    gpus.become(geforce())
    assert [card.last_xid for card in gpus.cards()] == [Known(13), Known(None)]
    gpus.become(geforce().with_extra("xid.1 45"))

    assert [card.last_xid for card in gpus.cards()] == [Known(13), Known(45)]


@pytest.mark.parametrize(
    ("card", "fault", "words"),
    [
        (rtx_3090(0, events=""), "", "does not offer"),
        (rtx_3090(0, events="5"), "", "does not offer"),
        (rtx_3090(0), "fault.nvmlEventSetCreate 3", "does not offer"),
        (rtx_3090(0), "fault.nvmlDeviceRegisterEvents 4", "may not read"),
        (rtx_3090(0), "fault.nvmlEventSetWait_v2 999", "unknown error"),
    ],
    ids=["no events", "no Xid events", "no event sets", "not allowed", "wait fails"],
)
def test_card_without_xid_events_misses_only_them(shim: Start, card: ShimCard, fault: str, words: str) -> None:
    """Given a card or driver that gives no Xid events, then that reading alone is Unknown, never "none seen"."""
    (read,) = shim(ShimState((card,)).with_extra(*([fault] if fault else []))).cards()

    assert unknown_fields(read) == {"last_xid"}
    assert words in reason(read.last_xid)


def test_watch_that_was_not_allowed_begins_when_it_is(shim: Start) -> None:
    """Given events that may not be registered for at first, then a later read begins the watch."""
    gpus = shim(geforce().with_extra("fault.nvmlDeviceRegisterEvents 4"))
    assert "may not read" in reason(gpus.cards()[0].last_xid)

    gpus.become(geforce())

    assert gpus.cards()[0].last_xid == Known(None)


@pytest.mark.parametrize(
    ("flags", "missing"),
    [(("-DOLD_DRIVER",), set()), (("-DNO_UTILIZATION",), {"utilization"})],
    ids=["older forms answer", "one symbol without an older form"],
)
def test_missing_symbol_degrades_one_reading(shim: Start, flags: tuple[str, ...], missing: set[str]) -> None:
    """Given a driver that lacks symbols, then only a reading that has no older form is Unknown."""
    facts = shim(ShimState((rtx_3090(0, used_mib=1000, compute=f"10:{MIB}"),)), flags=flags).read()

    assert isinstance(facts.cards, Known)
    (card,) = facts.cards.value
    assert unknown_fields(card) == missing
    assert card.memory_used == Known(1320 * MIB)
    assert card.temperature_celsius == Known(41)
    assert facts.cuda == Known("13.0")


def test_hanging_driver_is_answered_in_time_with_one_thread(shim: Start) -> None:
    """Given a card that never answers, then reads say so in bounded time, no thread is added, and an answer ends it."""
    sick = geforce().with_extra("hang.nvmlDeviceGetPowerUsage 1")
    gpus = shim(sick, seconds=0.3)
    begun = time.monotonic()
    assert "did not answer in 0.3 s" in reason(gpus.read().cards)
    threads = gpus.threads()

    for _ in range(5):
        assert "has not answered" in reason(gpus.read().cards)

    assert gpus.threads() == threads
    assert time.monotonic() - begun < 5
    gpus.become(geforce())
    assert _until_known(gpus)


def _until_known(gpus: ShimGpus) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if isinstance(gpus.read().cards, Known):
            return True
        time.sleep(0.02)
    return False


def test_nvlink_between_two_cards(shim: Start) -> None:
    """Given a bridge between two of three cards, then their pair is told once and an inactive link is not."""
    left = rtx_3090(0, links=("off", "card 0000:03:00"))
    right = rtx_3090(2, links=("card 0000:01:00", "card 0000:01:00"))
    facts = shim(ShimState((left, rtx_3090(1), right))).read()

    assert facts.nvlink == ((0, 2),)
    assert facts.notes == ()


def test_nvlink_through_a_switch(shim: Start) -> None:
    """Given cards on a switch, then every two of them count as linked."""
    facts = shim(ShimState((h100(0), h100(1), h100(2)))).read()

    assert facts.nvlink == ((0, 1), (0, 2), (1, 2))


def test_unreadable_nvlink_is_a_note(shim: Start) -> None:
    """Given links that may not be read, then the cards stand, no pair is made up and a note tells."""
    facts = shim(data_centre().with_extra("fault.nvmlDeviceGetNvLinkState 4")).read()

    assert isinstance(facts.cards, Known)
    assert facts.nvlink == ()
    assert any("NVLink of card 0" in note for note in facts.notes)


def test_cards_that_moved_keep_their_uuid(shim: Start) -> None:
    """Given a reload after which the indices are swapped, then each UUID stands at its new index and nothing is lost."""
    first, second = geforce().cards
    gpus = shim(geforce())
    gpus.read()

    gpus.become(replace(geforce(), cards=(second, first)))

    assert [card.uuid for card in gpus.cards()] == [second.uuid, first.uuid]


def test_card_that_the_driver_no_longer_lists_is_noted(shim: Start) -> None:
    """Given a reload that finds one card less, then the missing one is named in a note."""
    first, second = geforce().cards
    gpus = shim(geforce())
    gpus.read()

    gpus.become(replace(geforce(), cards=(first,)))

    assert any(second.uuid in note for note in gpus.read().notes)
