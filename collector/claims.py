"""What a source other than our hooks says about a job: on which GPUs it is."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from collector.readings import GpuProcess


class Claim(msgspec.Struct, frozen=True):
    """A job's GPUs by one source, positions in the node's devices."""

    source: str
    devices: frozenset[int]
    is_whole: bool  # there are no others of the job here
    uid: int | None = None


class Scene(NamedTuple):
    """What a source may look at besides its own files."""

    now_ms: int
    processes: Mapping[int, Sequence[GpuProcess]]  # by device
    place: Callable[[Sequence[str]], tuple[int, ...] | None]
    """Makes devices of what Slurm calls GPUs; None where it cannot be told which are meant."""


class Witness(Protocol):
    """A source. Those of one node are asked in the order of their rank."""

    def claims(self, scene: Scene) -> Mapping[str, Claim]:
        """Returns what is known by job id; a job whose GPUs cannot be told is left out."""
