"""Who holds which GPU of this node now: what every way of attribution offers to the agent."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from collector.readings import GpuProcess
from store.segment import Device, Event, Holding

Key = tuple[str, str, int, int, tuple[int, ...]]


class Attribution(Protocol):
    """One way to tell which run holds which GPU."""

    def changed(self) -> bool:
        """Returns whether a hold may have begun or ended since ``holdings`` was asked; cheap, asked every second."""

    def holdings(
        self, now_ms: int, devices: Sequence[Device], processes: Mapping[int, tuple[GpuProcess, ...]]
    ) -> tuple[Holding, ...]:
        """Returns every hold that lasts (``end_ms`` None) and, once, each that ended since the last call.

        Args:
            now_ms: the moment asked about, UTC.
            devices: this node's devices; ``Holding.devices`` are positions in it.
            processes: by device; a device that is not a key could not be asked at this moment.
        """


@runtime_checkable
class TellingAttribution(Protocol):
    """A way that has something to say when it cannot tell."""

    def take_events(self) -> tuple[Event, ...]:
        """Returns what happened since the last call."""


@runtime_checkable
class PlacingAttribution(Protocol):
    """A way that knows Slurm's own order of the GPUs."""

    def positions(self, devices: Sequence[Device]) -> dict[int, int]:
        """Returns the place in Slurm's list of each device whose place is known."""


def placed(attribution: Attribution, devices: Sequence[Device]) -> list[Device]:
    """Returns the devices with their places in Slurm's list, as far as the attribution knows them."""
    places = attribution.positions(devices) if isinstance(attribution, PlacingAttribution) else {}
    return [msgspec.structs.replace(device, position=places.get(at)) for at, device in enumerate(devices)]


def key_of(holding: Holding) -> Key:
    """Returns what makes two mentions of a hold the same hold: a change of its devices makes another of it."""
    return (holding.cluster, holding.job_id, holding.restart, holding.start_ms, holding.devices)
