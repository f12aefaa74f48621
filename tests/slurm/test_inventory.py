"""The probe of the cluster's inventory on a real slurmctld: what it reads, and what it costs by sdiag's own count."""

import re
from collections.abc import Iterator

import pytest

from collector.inventory import Inventory
from collector.probes import Context, build_probes, run_probe
from collector.probes.cluster import ClusterProbe
from collector.readings import Moment
from collector.settings import CollectorSettings
from store.segment import Event, GpuGroup, InventoryReading, standing
from tests.slurm.running import SlurmCluster

_COUNT = re.compile(r"^\s*(REQUEST_\w+)\s+\(\s*\d+\)\s+count:(\d+)", re.MULTILINE)


@pytest.fixture
def probe(slurm_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> ClusterProbe:
    monkeypatch.setenv("SLURM_CONF", slurm_cluster.environment["SLURM_CONF"])
    (found,) = build_probes(Context(CollectorSettings(probes=("cluster",)), Inventory(), "login1", "site"))
    assert isinstance(found, ClusterProbe)
    return found


@pytest.fixture
def reservation(slurm_cluster: SlurmCluster) -> Iterator[str]:
    slurm_cluster.as_root(
        *("scontrol", "create", "reservation", "ReservationName=later", "StartTime=now+2days", "Duration=60"),
        *("Users=root", f"Nodes={slurm_cluster.nodes[0]}", "Flags=MAINT,IGNORE_JOBS"),
    )
    yield "later"
    slurm_cluster.as_root("scontrol", "delete", "ReservationName=later")


def read(probe: ClusterProbe, moment: Moment | None = None) -> tuple[InventoryReading, tuple[Event, ...]]:
    report, _ = run_probe(probe, moment or Moment.now())
    assert report.error == ""
    assert report.inventory is not None
    return report.inventory, report.events


def test_what_the_cluster_has(slurm_cluster: SlurmCluster, probe: ClusterProbe, reservation: str) -> None:
    found, events = read(probe)
    assert events == ()
    assert tuple(node.name for node in found.nodes) == slurm_cluster.nodes
    for node in found.nodes:
        assert node.gpus == (GpuGroup(type="a100", count=4),)
        assert standing(node.state, node.flags) == "up"
        assert None not in (node.boot_ms, node.version)
    nodes = {partition.name: partition.nodes for partition in found.partitions}
    assert nodes == {"gpu": slurm_cluster.nodes, "debug": slurm_cluster.nodes[-1:]}
    (later,) = found.reservations
    assert (later.name, later.nodes, "MAINT" in later.flags) == (reservation, slurm_cluster.nodes[:1], True)
    assert later.end_ms - later.start_ms == 3_600_000
    assert found.usage == ()  # sreport answered: slurmdbd rolls up once an hour, and this cluster is younger
    assert {("physics", "root"), ("chem", "root")} <= {(account.name, account.parent) for account in found.accounts}


def test_a_drained_node_says_why_and_since_when(slurm_cluster: SlurmCluster, probe: ClusterProbe) -> None:
    before = Moment.now()
    read(probe, Moment(before.wall_ms - 60_000, before.steady_s - 60))
    slurm_cluster.as_root("scontrol", "update", f"NodeName={slurm_cluster.nodes[0]}", "State=DRAIN", "Reason=fan = x")
    try:
        late = Moment(before.wall_ms + 300_000, before.steady_s + 300)
        (node,) = (node for node in read(probe, late)[0].nodes if node.name == slurm_cluster.nodes[0])
    finally:
        slurm_cluster.as_root("scontrol", "update", f"NodeName={slurm_cluster.nodes[0]}", "State=RESUME")
    assert (standing(node.state, node.flags), node.reason) == ("offline", "fan = x")
    assert abs(node.at_ms - before.wall_ms) < 5_000  # Slurm's own second, not that of the reading


def test_readings_cost_what_they_say(slurm_cluster: SlurmCluster, probe: ClusterProbe) -> None:
    before, start = _requests(slurm_cluster), Moment.now()
    told = sum(
        read(probe, Moment(start.wall_ms + at_s * 1000, start.steady_s + at_s))[0].calls for at_s in range(0, 3600, 300)
    )
    after = _requests(slurm_cluster)
    kinds = {kind: after[kind] - before.get(kind, 0) for kind in after if after[kind] != before.get(kind, 0)}
    asked = {kind: kinds.get(kind, 0) for kind in _ASKED}
    assert asked == {"REQUEST_NODE_INFO": 12, "REQUEST_PARTITION_INFO": 18, "REQUEST_RESERVATION_INFO": 6}
    assert sum(asked.values()) == told == 36  # in an hour, of the 120 that the whole product may make


_ASKED = ("REQUEST_NODE_INFO", "REQUEST_PARTITION_INFO", "REQUEST_RESERVATION_INFO")


def _requests(cluster: SlurmCluster) -> dict[str, int]:
    return {kind: int(count) for kind, count in _COUNT.findall(cluster.as_root("sdiag"))}
