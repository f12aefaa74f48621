"""What the collector's tests share: a node of stand-in GPUs whose time is set, and the segments it makes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from collector.inventory import Inventory
from collector.probes.gpu import GpuProbe
from collector.probes.processes import ProcessesProbe
from collector.readings import Moment, Report, Row
from tests.fakenvml import Fake

START_S = 1_800_000_000


def moment(at_s: float) -> Moment:
    """``at_s`` seconds after the start, on both clocks."""
    return Moment(round((START_S + at_s) * 1000), 5000.0 + at_s)


@dataclass
class StandIn:
    """Stand-in GPUs and the probes on them. Time stands still between the readings."""

    fake: Fake
    interval_s: float = 10.0
    gather_when_dry: bool = True
    inventory: Inventory = field(default_factory=Inventory)

    def __post_init__(self) -> None:
        self.gpu = GpuProbe(self.inventory, self.interval_s, gather_when_dry=self.gather_when_dry)
        self.processes = ProcessesProbe(self.inventory)

    def set(self, at_s: float, scenario: str) -> Moment:
        """Makes it ``at_s`` on a node of one GPU, unless the scenario says otherwise."""
        self.fake.write(f"count=1\nclock_s={START_S + at_s}\n{scenario}")
        return moment(at_s)

    def read(self, at_s: float, scenario: str = "") -> Report:
        return self.gpu.read(self.set(at_s, scenario))

    def row(self, at_s: float, scenario: str = "") -> Row:
        """The only row of a reading."""
        (row,) = self.read(at_s, scenario).rows
        return row


@pytest.fixture
def node(fake_nvml: Fake) -> Iterator[StandIn]:
    stand_in = StandIn(fake_nvml)
    yield stand_in
    stand_in.inventory.close()
