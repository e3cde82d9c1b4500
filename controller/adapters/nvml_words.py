"""What an NVML error code means: to Steward, and in words to the person at the rig."""

from __future__ import annotations

from typing import Any, Final, Protocol

UNINITIALIZED: Final = 1
INVALID_ARGUMENT: Final = 2
NOT_SUPPORTED: Final = 3
NO_PERMISSION: Final = 4
DRIVER_NOT_LOADED: Final = 9
TIMEOUT: Final = 10
LIBRARY_NOT_FOUND: Final = 12
FUNCTION_NOT_FOUND: Final = 13
GPU_IS_LOST: Final = 15
RESET_REQUIRED: Final = 16
VERSION_MISMATCH: Final = 18
UNKNOWN_ERROR: Final = 999

SESSION_ENDED: Final = frozenset({UNINITIALIZED, DRIVER_NOT_LOADED, VERSION_MISMATCH})
"""After these the session is worth nothing: the driver was unloaded or replaced under it."""
CARD_FAILED: Final = frozenset({GPU_IS_LOST, RESET_REQUIRED})
"""After these the card does no work until somebody resets it or the machine."""
NOT_OFFERED: Final = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND})
"""The card or the driver has no such reading, which says nothing about their health."""
_OLDER_MAY_DO: Final = frozenset({FUNCTION_NOT_FOUND, 25, 26})
"""Missing, of another structure version, or deprecated: the same question in its older form may still be answered."""

_WORDS: Final = {
    UNINITIALIZED: "the driver's session has ended",
    INVALID_ARGUMENT: "the driver does not accept the question",
    NOT_SUPPORTED: "this card or driver does not offer it",
    NO_PERMISSION: "this user may not read it",
    8: "the card's power cable is not connected",
    DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    TIMEOUT: "the driver gave up waiting for the card",
    11: "the card's interrupt does not work",
    LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 is not found: no NVIDIA driver is installed, or this container got no GPU access",
    FUNCTION_NOT_FOUND: "this driver version does not know the question",
    14: "the card's own configuration memory is corrupt",
    GPU_IS_LOST: "the card is lost: it fell off the bus or is otherwise not reachable",
    RESET_REQUIRED: "the card needs a reset",
    17: "the operating system blocks access to the card",
    VERSION_MISMATCH: "the NVIDIA driver was updated but not reloaded: its library and its kernel module differ in version "
    "(reboot, or reload the module and restart Steward)",
    19: "the card is in use",
    20: "the driver has not enough memory",
    21: "the driver has no data",
    28: "the card is not found",
    UNKNOWN_ERROR: "the driver answers with an unknown error (in a container: device access was taken away; recreate it)",
}


def in_words(code: int) -> str:
    """One human sentence without its full stop."""
    return _WORDS.get(code, f"NVML error {code}")


class NvmlFault(Exception):
    """A question to the driver that got no answer; the text is its code in words."""

    def __init__(self, code: int, text: str = "") -> None:
        """Keep the code, which decides what the fault says about the card and the session."""
        super().__init__(text or in_words(code))
        self.code = code


class Ask(Protocol):
    """One question to the driver, by the name of its function; raises NvmlFault."""

    def __call__(self, question: str, *args: Any) -> Any:
        """The answer as the binding gives it."""
        ...


def first_known(ask: Ask, questions: tuple[tuple[Any, ...], ...]) -> Any:
    """The answer to the first of these questions that this driver knows: newer functions come first, older ones follow."""
    fault = NvmlFault(FUNCTION_NOT_FOUND)
    for question in questions:
        try:
            return ask(*question)
        except NvmlFault as error:
            if error.code not in _OLDER_MAY_DO:
                raise
            fault = error
    raise fault
