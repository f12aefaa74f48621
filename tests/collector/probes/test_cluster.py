"""The probe of the cluster's inventory: what is asked how often, what is passed on, and what a failure costs."""

import pytest

from collector.inventory import Inventory
from collector.probes import Context, build_probes, run_probe
from collector.readings import Moment
from collector.settings import CollectorSettings

NOW_S = 1_800_000_000
SCRIPT = """#!/bin/sh
echo "$*" >> {folder}/calls
case "$*" in
  *"show node"*) cat {folder}/nodes ;;
  *"show partition"*) cat {folder}/partitions ;;
  *"show reservation"*) echo "No reservations in the system" ;;
  *AccountUtilization*) cat {folder}/usage ;;
  *associations*) test -e {folder}/away && {{ echo "Connection refused" >&2; exit 1; }}; cat {folder}/accounts ;;
esac
"""


def node(name, state="IDLE", used=0, reason=""):
    return (
        f"NodeName={name} CPUAlloc=0 CPUTot=32 Gres=gpu:a100:4 GresUsed=gpu:a100:{used} RealMemory=64000 "
        f"State={state} Partitions=gpu {reason}\n"
    )


class Site:
    """A host with Slurm's client commands."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("scontrol", "sacctmgr", "sreport"):
            (folder / name).write_text(SCRIPT.format(folder=folder))
            (folder / name).chmod(0o755)
        (folder / "partitions").write_text("PartitionName=gpu Default=YES MaxTime=UNLIMITED Nodes=g[1-2] State=UP\n")
        (folder / "accounts").write_text("alpha|root||\nalpha|physics|root|\n")
        (folder / "usage").write_text("alpha|root||gres/gpu|90\nalpha|bio||gres/gpu|90\nalpha|bio|ann|gres/gpu|90\n")
        self.nodes(node("g1"), node("g2"))
        settings = CollectorSettings(
            probes=("cluster",),
            scontrol=str(folder / "scontrol"),
            sacctmgr=str(folder / "sacctmgr"),
            sreport=str(folder / "sreport"),
        )
        (self.probe,) = build_probes(Context(settings, Inventory(), "login1", "alpha"))

    def nodes(self, *lines):
        (self.folder / "nodes").write_text("".join(lines))

    def read(self, at_s):
        self.report, _ = run_probe(self.probe, Moment((NOW_S + at_s) * 1000, 5000.0 + at_s))
        return self.report.inventory

    def calls(self):
        found = (self.folder / "calls").read_text().splitlines()
        (self.folder / "calls").unlink()
        return len(found)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def test_all_at_the_start_and_then_what_is_new(site):
    first = site.read(0)
    assert [seen.name for seen in first.nodes] == ["g1", "g2"]
    assert [seen.name for seen in first.partitions] == ["gpu"]
    assert [(seen.name, seen.parent) for seen in first.accounts] == [("root", None), ("physics", "root")]
    assert [(used.account, used.gpu_s) for used in first.usage] == [("bio", 90)] * 3
    assert (site.calls(), first.calls, site.report.error) == (7, 4, "")
    second = site.read(300)
    assert (second.nodes, second.partitions, second.accounts, second.calls) == ((), (), (), 2)
    assert site.calls() == 1
    site.nodes(node("g1", used=2), node("g2"))
    third = site.read(600)
    assert [(seen.name, seen.gpus_used, seen.at_ms) for seen in third.nodes] == [("g1", 2, (NOW_S + 600) * 1000)]
    assert ([seen.name for seen in third.partitions], third.calls) == (["gpu"], 4)


def test_a_node_that_is_out_of_use_is_told_again_and_dated_by_its_reason(site):
    site.read(0)
    drained = node("g2", "IDLE+DRAIN", reason=f"Reason=fan [root@{NOW_S + 120}]")
    site.nodes(node("g1"), drained)
    (seen,) = site.read(300).nodes
    assert (seen.at_ms, seen.reason) == ((NOW_S + 120) * 1000, "fan")
    (seen,) = site.read(600).nodes
    assert seen.at_ms == (NOW_S + 600) * 1000


def test_every_hour_all_nodes_are_told(site):
    site.read(0)
    assert not site.read(3300).nodes
    assert len(site.read(3600).nodes) == 2


def test_requests_to_slurmctld_stay_below_one_a_minute(site):
    hours = 6
    calls = sum(site.read(at_s).calls for at_s in range(0, hours * 3600, 300))
    assert calls / (hours * 60) == pytest.approx(0.6)


def test_without_slurmdbd_the_nodes_are_known_all_the_same(site):
    (site.folder / "away").touch()
    assert len(site.read(0).nodes) == 2
    assert "Connection refused" in site.report.error
    (site.folder / "away").unlink()
    assert [seen.name for seen in site.read(300).accounts] == ["root", "physics"]
    assert site.report.error == ""


def test_a_record_that_cannot_be_is_told_once(site):
    site.nodes(node("g1"), node("g2", state="???"))
    site.read(0)
    assert [event.kind for event in site.report.events] == ["inventory_refused"]
    site.read(300)
    assert site.report.events == ()


def test_no_scontrol(site):
    (site.folder / "scontrol").unlink()
    assert site.read(0).nodes == ()
    assert "collector.scontrol" in site.report.error
