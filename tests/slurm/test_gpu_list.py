"""What slurmd counts is what we take it for: each place of its list is the device that its job can open."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakenvml import child_env, write_scenario
from tests.fakenvml.building import obstacle
from tests.slurm.product import hooks_installed, once
from tests.slurm.running import SlurmCluster

# Minor numbers run against the PCI bus, as on boards whose kernel module met them in another order.
MINORS = (2, 0, 3, 1)
# EPERM: denied by the control group. ENXIO: allowed, and there is no driver.
_OPENED = """\
import os
for number in range(4):
    try:
        os.open(f'/dev/nvidia{number}', os.O_RDONLY)
    except OSError as error:
        if error.errno == 6:
            print(number)
"""


@pytest.fixture
def gres_conf(slurm_cluster: SlurmCluster) -> Iterator[Path]:
    """The cluster's gres.conf, put back afterwards.

    As old as it was, too: a file that has changed since slurmd started does not say what that slurmd counts by.
    """
    path = slurm_cluster.folder / "etc/gres.conf"
    before, written = path.read_text(), path.stat()
    yield path
    path.write_text(before)
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))
    restart(slurm_cluster)


def restart(cluster: SlurmCluster) -> None:
    """Start slurmd again, which reads gres.conf anew, and wait until it takes jobs."""
    node = cluster.nodes[0]
    cluster.change_node(node, "stop")
    cluster.change_node(node, "start")
    cluster.eventually(lambda: cluster.as_root("sinfo", "-h", "-n", node, "-o", "%T").strip() == "idle" or None)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("Name=gpu Type=a100 File=/dev/nvidia[3,1]\nName=gpu Type=a100 File=/dev/nvidia[2,0]\n", (3, 1, 2, 0)),
        ("NodeName={node} Name=gpu Type=a100 File=/dev/nvidia[1-3],/dev/nvidia0\n", (1, 2, 3, 0)),
    ],
)
def test_the_gpu_that_a_place_names_is_the_one_that_its_job_opens(
    slurm_cluster: SlurmCluster, gres_conf: Path, tmp_path: Path, text: str, places: tuple[int, ...]
) -> None:
    if reason := obstacle():
        pytest.skip(reason)
    node = slurm_cluster.nodes[0]
    gres_conf.write_text("AutoDetect=off\n" + text.format(node=node))
    restart(slurm_cluster)
    scenario = tmp_path / "scenario"
    write_scenario(scenario, "count = 4\n" + "".join(f"gpu.{at}.minor = {minor}\n" for at, minor in enumerate(MINORS)))
    with hooks_installed(slurm_cluster):
        script = f'#!/bin/sh\npython3 -c "{_OPENED}"\nexec sleep 60\n'
        jobs = [slurm_cluster.submit("alice", f"--nodelist={node}", "--gres=gpu:1", script=script) for _ in range(4)]
        truth = [slurm_cluster.eventually(lambda job=job: opened(slurm_cluster, job)) for job in jobs]
        found = once(slurm_cluster, node, tmp_path, child_env(scenario))
        for job in jobs:
            slurm_cluster.as_user("alice", "scancel", str(job))
            slurm_cluster.wait(job)
    assert truth == [[place] for place in places]
    assert found["gpu_list"] == "slurmd -G"
    assert [item["device"]["position"] for item in found["devices"]] == [places.index(minor) for minor in MINORS]
    assert [held(found, job) for job in jobs] == truth


def opened(cluster: SlurmCluster, job: int) -> list[int] | None:
    """Return the minor numbers of the GPUs that a job could open, once it has tried."""
    path = cluster.home("alice") / f"slurm-{job}.out"
    return [int(line) for line in path.read_text().split()] or None if path.exists() else None


def held(found: dict[str, Any], job: int) -> list[int]:
    """Return the minor numbers of the GPUs that a job holds, as we see it."""
    return [
        found["devices"][at]["device"]["minor"]
        for holding in found["holdings"]
        if holding["job_id"] == str(job)
        for at in holding["devices"]
    ]
