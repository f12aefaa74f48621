"""The pytest fixture `slurm_cluster`; tests that use it share one real cluster and run on one worker."""

import os
from collections.abc import Iterator

import pytest

from tests.slurm.cluster import ClusterError
from tests.slurm.cluster.probes import require_programs
from tests.slurm.running import SlurmCluster


@pytest.fixture(scope="session")
def slurm_cluster() -> Iterator[SlurmCluster]:
    """Yield four nodes of four GPUs, with alice (account physics), bob (chem, and physics as well), carol (chem)."""
    cluster = SlurmCluster.start(nodes=4, options=("--assoc", "physics:alice,chem:bob,physics:bob,chem:carol"))
    try:
        yield cluster
    finally:
        cluster.stop()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that use the cluster: those of one mark share a pytest-xdist worker, and so one cluster."""
    if "slurm_cluster" in getattr(item, "fixturenames", ()):
        item.add_marker("slurm")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a cluster where none can be started, and say why; tests.strictness decides what that means."""
    if item.get_closest_marker("slurm") is None:
        return
    if os.geteuid() != 0:
        pytest.skip("A Slurm cluster needs root: it makes users, namespaces and devices.")
    try:
        require_programs()
    except ClusterError as error:
        pytest.skip(str(error))
