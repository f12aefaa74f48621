"""The pytest fixture `slurm_cluster`; tests that use it share one real cluster and run on one worker."""

from collections.abc import Iterator

import pytest

from tests.slurm.running import SlurmCluster


@pytest.fixture(scope="session")
def slurm_cluster() -> Iterator[SlurmCluster]:
    """Yield one node with four GPUs, with alice (account physics) and bob (chem, and physics as well)."""
    cluster = SlurmCluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a cluster, and keep them on one pytest-xdist worker: each would start its own."""
    for item in items:
        if "slurm_cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("slurm")
        if item.get_closest_marker("slurm"):
            item.add_marker(pytest.mark.xdist_group("slurm"))
