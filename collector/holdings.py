"""Who holds which GPU of this node now: what every way of attribution offers to the agent."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from collector.readings import GpuProcess
from store.segment import Device, Holding

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


class NoAttribution:
    """Nothing is known about who holds what."""

    def changed(self) -> bool:
        return False

    def holdings(
        self,
        now_ms: int,  # noqa: ARG002 - the protocol's
        devices: Sequence[Device],  # noqa: ARG002
        processes: Mapping[int, tuple[GpuProcess, ...]],  # noqa: ARG002
    ) -> tuple[Holding, ...]:
        return ()


def key_of(holding: Holding) -> Key:
    """Returns what makes two mentions of a hold the same hold: a change of its devices makes another of it."""
    return (holding.cluster, holding.job_id, holding.restart, holding.start_ms, holding.devices)
