"""The last Xid of each card: the driver tells one once, to whoever registered before, so the watch outlives single reads."""

from __future__ import annotations

from typing import Any, Final

from controller.adapters.nvml_words import NOT_OFFERED, NOT_SUPPORTED, SESSION_ENDED, TIMEOUT, Ask, NvmlFault
from controller.model.reading import Known, Reading, Unknown

XID: Final = 0x8
"""The event type of an Xid, NVML's name for it is nvmlEventTypeXidCriticalError."""
_MOST_EVENTS: Final = 64
"""Taken from a card in one read; a card that reports more is asked again in the next one."""
_NOT_WATCHED: Final = Unknown("the card was never watched for Xid events")


class XidWatch:
    """One event set a card, so that a card that fails spoils no other's reading; what was seen stays, also over a reset."""

    def __init__(self) -> None:
        """Nothing is watched yet."""
        self._sets: dict[str, Any] = {}
        self._refused: dict[str, Unknown] = {}
        self._last: dict[str, int] = {}

    def of(self, ask: Ask, device: Any, uuid: str) -> Reading[int | None]:
        """The last Xid of this card, Known(None) while it is watched and none came; begins the watch when there is none."""
        if uuid in self._refused:
            return self._refused[uuid]
        try:
            if uuid not in self._sets:
                self._sets[uuid] = _registered(ask, device)
        except NvmlFault as fault:
            if fault.code in SESSION_ENDED:
                raise
            why = Unknown(str(fault))
            if fault.code in NOT_OFFERED:
                self._refused[uuid] = why
            return self._seen(uuid, why)
        return self._drained(ask, uuid)

    def of_silent(self, ask: Ask, uuid: str) -> Reading[int | None]:
        """The last Xid of a card that does not say its name any more: what it was lost with."""
        return self._drained(ask, uuid) if uuid in self._sets else self._seen(uuid, _NOT_WATCHED)

    def session_ended(self) -> None:
        """The driver has dropped every event set; the next read registers anew."""
        self._sets.clear()
        self._refused.clear()

    def _drained(self, ask: Ask, uuid: str) -> Reading[int | None]:
        for _ in range(_MOST_EVENTS):
            try:
                event = ask("nvmlEventSetWait_v2", self._sets[uuid], 0)
            except NvmlFault as fault:
                if fault.code in SESSION_ENDED:
                    raise
                return self._seen(uuid, Known(None) if fault.code == TIMEOUT else Unknown(str(fault)))
            if int(event.eventType) == XID:
                self._last[uuid] = int(event.eventData)
        return self._seen(uuid, Known(None))

    def _seen(self, uuid: str, otherwise: Reading[int | None]) -> Reading[int | None]:
        return Known(self._last[uuid]) if uuid in self._last else otherwise


def _registered(ask: Ask, device: Any) -> Any:
    """A set that hears of this card's Xids from here on; raises NvmlFault where the card or the driver has none."""
    if not int(ask("nvmlDeviceGetSupportedEventTypes", device)) & XID:
        raise NvmlFault(NOT_SUPPORTED)
    events = ask("nvmlEventSetCreate")
    try:
        ask("nvmlDeviceRegisterEvents", device, XID, events)
    except NvmlFault:
        _free(ask, events)
        raise
    return events


def _free(ask: Ask, events: Any) -> None:
    try:
        ask("nvmlEventSetFree", events)
    except NvmlFault:
        return  # the reason why it could not be registered is what counts
