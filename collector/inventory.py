"""The node's GPUs over the life of the agent: lasting positions, losses, and the driver's coming and going."""

from typing import Final

import msgspec

from collector.nvml import Gpu, close_driver, open_driver
from collector.readings import DriverMissing, Moment
from store.segment import Device, Event

_MISSING_RETRY_S: Final = (10.0, 60.0)  # first and longest wait for a driver that is not there
_LOST_RETRY_S: Final = (30.0, 600.0)  # the same for a GPU that fell off the bus: it mostly needs a reset by hand


class Inventory:
    """The devices by position. Positions are given at first sight of a UUID and kept, also while a GPU is lost."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.gpus: dict[int, Gpu] = {}  # those that answer now, by position
        self.problem = ""  # one sentence while there is no driver
        self._events: list[Event] = []
        self._positions: dict[str, int] = {}
        self._lost: set[int] = set()
        self._silent: tuple[str, ...] = ()
        self._instances: dict[int, frozenset[str]] = {}  # UUIDs of MIG instances, by position of the GPU
        self._recut = False  # whether a GPU is cut into other instances than when the driver was opened
        self._open = False
        self._retry_at_s = 0.0
        self._wait_s = 0.0

    @property
    def absent(self) -> tuple[int, ...]:
        """Positions of devices that were seen before and do not answer now.

        A MIG instance whose GPU answers is not among them: it was taken apart.
        """
        answering = {gpu.device.uuid for gpu in self.gpus.values()}
        return tuple(
            position
            for position, device in enumerate(self.devices)
            if position not in self.gpus and device.parent_uuid not in answering
        )

    def take_events(self) -> tuple[Event, ...]:
        """Returns what happened since the last call."""
        events, self._events = tuple(self._events), []
        return events

    def refresh(self, moment: Moment) -> None:
        """Opens the driver, or opens it again where something is missing and the wait is over."""
        settled = self._open and not self.absent and not self._silent
        if not self._recut and (settled or moment.steady_s < self._retry_at_s):
            return
        self._shut()
        try:
            found = open_driver()
        except DriverMissing as error:
            self._driver_missing(str(error), moment)
            return
        self._open = True
        if self.problem:
            self._event(moment, "driver_back", "the NVIDIA driver answers again")
            self.problem = ""
        self._place(found.gpus, moment)
        if found.silent != self._silent:
            for sentence in found.silent:
                self._event(moment, "gpu_silent", sentence)
            self._silent = found.silent
        if self.absent or self._silent:
            self._back_off(moment, _LOST_RETRY_S)
        else:
            self._wait_s = 0.0

    def settle(self, moment: Moment) -> None:
        """Takes the GPUs that were lost during a reading out, so that their stale handles are not used again."""
        lost = [position for position, gpu in self.gpus.items() if gpu.lost]
        for position in lost:
            del self.gpus[position]
        for position in lost:
            self._note_loss(position, moment)
        if any(position in self._lost for position in lost):
            self._wait_s = 0.0
            self._back_off(moment, _LOST_RETRY_S)

    def set_mig_mode(self, position: int, *, in_mig_mode: bool) -> None:
        """Notes whether a device is cut into MIG instances."""
        device = self.devices[position]
        if device.in_mig_mode != in_mig_mode:
            self.devices[position] = msgspec.structs.replace(device, in_mig_mode=in_mig_mode)

    def set_instances(self, position: int, uuids: frozenset[str]) -> None:
        """Notes the MIG instances of a GPU; other ones than before have handles only in a new enumeration."""
        if self._instances.setdefault(position, uuids) != uuids:
            self._recut = True

    def driver_lost(self, sentence: str, moment: Moment) -> None:
        """Notes that the driver went away while it was open; it is opened again at the next refresh that is due."""
        self._shut()
        self._driver_missing(sentence, moment)

    def close(self) -> None:
        """Closes the driver."""
        self._shut()

    def _place(self, gpus: tuple[Gpu, ...], moment: Moment) -> None:
        for gpu in gpus:
            position = self._positions.setdefault(gpu.device.uuid, len(self.devices))
            if position == len(self.devices):
                self.devices.append(gpu.device)
            self.devices[position] = gpu.device
            self.gpus[position] = gpu
            if position in self._lost:
                self._lost.discard(position)
                self._event(moment, "gpu_back", f"GPU {gpu.device.index} answers again", position)
        for position in self.absent:
            self._note_loss(position, moment)

    def _note_loss(self, position: int, moment: Moment) -> None:
        parent = self.devices[position].parent_uuid
        if parent is not None:  # it is lost with its GPU, or was taken apart
            self._recut = self._recut or any(gpu.device.uuid == parent for gpu in self.gpus.values())
        elif position not in self._lost:
            self._lost.add(position)
            self._event(moment, "gpu_lost", f"GPU {self.devices[position].index} does not answer", position)

    def _driver_missing(self, sentence: str, moment: Moment) -> None:
        if sentence != self.problem:
            self._event(moment, "driver_missing", sentence)
            self.problem = sentence
            self._wait_s = 0.0
        self._back_off(moment, _MISSING_RETRY_S)

    def _back_off(self, moment: Moment, bounds_s: tuple[float, float]) -> None:
        first_s, longest_s = bounds_s
        self._wait_s = min(max(self._wait_s * 2, first_s), longest_s)
        self._retry_at_s = moment.steady_s + self._wait_s

    def _shut(self) -> None:
        if self._open:
            close_driver()
        self._open = self._recut = False
        self._instances.clear()
        self.gpus.clear()

    def _event(self, moment: Moment, kind: str, detail: str, device: int | None = None) -> None:
        self._events.append(Event(ts_ms=moment.wall_ms, kind=kind, device=device, detail=detail))
