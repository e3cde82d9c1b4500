"""The port GpuProbe on NVIDIA's driver: the only module that imports its binding, and only at the first read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from controller.adapters.bounded_call import BoundedCall, NoAnswer
from controller.adapters.nvml_card import Handle, read_card, silent_card
from controller.adapters.nvml_events import XidWatch
from controller.adapters.nvml_links import read_links
from controller.adapters.nvml_processes import Residents
from controller.adapters.nvml_words import FUNCTION_NOT_FOUND, SESSION_ENDED, NvmlFault, first_known
from controller.model.reading import Known, Reading, Unknown
from controller.model.rig import Card, RigFacts

_NO_BINDING: Final = "the Python package nvidia-ml-py is not installed"


class NvmlGpus:
    """The cards of this machine. Reads never raise: what cannot be had is Unknown with its reason."""

    def __init__(self, seconds: float, proc: Path = Path("/proc")) -> None:
        """`seconds` bounds one reading of all cards; `proc` is where the host's processes are seen."""
        self._session = _Session()
        self._residents = Residents(proc)
        self._watch = XidWatch()
        self._seen: dict[str, _Seen] = {}
        self._bounded = BoundedCall(self._read_again_after_reload, seconds, "nvml")

    def read(self) -> RigFacts:
        """All cards now; what cannot be read is Unknown with its reason."""
        try:
            return self._bounded()
        except NoAnswer as silence:
            return _unreadable(f"the NVIDIA driver {silence}")
        except NvmlFault as fault:
            return _unreadable(str(fault))
        except (OSError, ValueError) as error:
            return _unreadable(f"the NVIDIA driver's answer makes no sense: {error}")

    def _read_again_after_reload(self) -> RigFacts:
        """A session that ended under us is opened once more: the driver may be back already."""
        try:
            return self._read()
        except NvmlFault as fault:
            self._end_session()
            if fault.code not in SESSION_ENDED:
                raise
        try:
            return self._read()
        except NvmlFault:
            self._end_session()
            raise

    def _end_session(self) -> None:
        self._session.close()
        self._watch.session_ended()

    def _read(self) -> RigFacts:
        self._session.open()
        handles, silent = self._enumerate(self._session.ask("nvmlDeviceGetCount"))
        cards = [read_card(self._session.ask, handle, self._residents, self._watch) for handle in handles]
        lost, notes = self._recall(handles, silent)
        links = read_links(self._session.ask, handles)
        self._seen.update({handle.uuid: _Seen(handle.index, handle.name) for handle in handles})
        return RigFacts(
            cards=Known(tuple(sorted((*cards, *lost), key=lambda card: card.index))),
            nvlink=tuple(sorted(links.pairs)),
            driver=self._text("nvmlSystemGetDriverVersion"),
            cuda=self._cuda(),
            notes=(*notes, *links.notes),
        )

    def _enumerate(self, count: int) -> tuple[list[Handle], dict[int, NvmlFault]]:
        """The cards that say who they are, and by index why the others do not."""
        handles: list[Handle] = []
        silent: dict[int, NvmlFault] = {}
        for index in range(count):
            try:
                device = self._session.ask("nvmlDeviceGetHandleByIndex", index)
                uuid = str(self._session.ask("nvmlDeviceGetUUID", device))
            except NvmlFault as fault:
                if fault.code in SESSION_ENDED:
                    raise
                silent[index] = fault
                continue
            name = self._text("nvmlDeviceGetName", device)
            handles.append(Handle(index, device, uuid, name.value if isinstance(name, Known) else "unnamed card"))
        return handles, silent

    def _recall(self, handles: Sequence[Handle], silent: dict[int, NvmlFault]) -> tuple[list[Card], list[str]]:
        """Silent cards under the UUID of an earlier read; a note for one that was never seen, and for one that is gone."""
        present = {handle.uuid for handle in handles}
        missing = {uuid: seen for uuid, seen in self._seen.items() if uuid not in present}
        by_elimination = len(missing) == len(silent) == 1
        cards, notes = [], []
        for index, fault in silent.items():
            uuid = next((u for u, seen in missing.items() if seen.index == index or by_elimination), None)
            if uuid is None:
                notes.append(f"card {index} does not tell its UUID and was never seen before: {fault}")
            else:
                last_xid = self._watch.of_silent(self._session.ask, uuid)
                cards.append(silent_card(index, uuid, missing.pop(uuid).name, fault, last_xid))
        notes += [f"card {uuid} ({seen.name}) is not listed by the driver any more" for uuid, seen in missing.items()]
        return cards, notes

    def _text(self, question: str, *args: Any) -> Reading[str]:
        try:
            return Known(str(self._session.ask(question, *args)))
        except NvmlFault as fault:
            if fault.code in SESSION_ENDED:
                raise
            return Unknown(str(fault))

    def _cuda(self) -> Reading[str]:
        """The newest CUDA that this driver serves, such as `12.8`."""
        name = "nvmlSystemGetCudaDriverVersion"
        try:
            number = int(first_known(self._session.ask, ((f"{name}_v2",), (name,))))
        except NvmlFault as fault:
            if fault.code in SESSION_ENDED:
                raise
            return Unknown(str(fault))
        return Known(f"{number // 1000}.{number % 1000 // 10}")


@dataclass(frozen=True, slots=True)
class _Seen:
    """Where a card was and what it was called when it last answered."""

    index: int
    name: str


def _unreadable(reason: str) -> RigFacts:
    why = Unknown(reason)
    return RigFacts(cards=why, driver=why, cuda=why)


class _Session:
    """The binding and its one session with the driver, kept open: opening wakes cards that sleep."""

    def __init__(self) -> None:
        self._binding: ModuleType | None = None
        self._opened = False

    def open(self) -> None:
        """Import the binding and begin the session, unless that is done."""
        if self._binding is None:
            try:
                import pynvml
            except ImportError as error:
                raise NvmlFault(FUNCTION_NOT_FOUND, _NO_BINDING) from error
            self._binding = pynvml
        if not self._opened:
            self.ask("nvmlInit")
            self._opened = True

    def ask(self, question: str, *args: Any) -> Any:
        """Call one function of the binding."""
        binding: Any = self._binding
        function = getattr(binding, question, None)
        if function is None:
            raise NvmlFault(FUNCTION_NOT_FOUND)
        try:
            return function(*args)
        except binding.NVMLError as error:
            raise NvmlFault(int(error.value)) from error

    def close(self) -> None:
        """End the session as far as the driver still knows of it; the next read opens a new one."""
        if not self._opened:
            return
        self._opened = False
        try:
            self.ask("nvmlShutdown")
        except NvmlFault:
            return  # it has ended already, which is why we are here
