"""Holds from drop-files: begins, ends, what a crash leaves behind, and what cannot be told."""

import time

import pytest

from collector.attribution import CHECK_MS, HookAttribution
from collector.carryover import Carryover, OpenHold
from collector.dropfiles import DropFolder
from collector.found_jobs import FoundJobs
from collector.gpu_list import GpuList
from collector.holdings import PlacingAttribution, TellingAttribution
from collector.job_processes import JobProcesses
from collector.liveness import ControlGroups
from collector.ranked import RankedAttribution
from collector.readings import GpuProcess
from collector.site_files import SiteFiles
from collector.steps import StepEnvironments
from store.formats.gpu_files import jobstats
from store.segment import Device
from tests.collector.slurmd_program import Slurmd

T = 1_800_000_000
MS = T * 1000
BOOT = "this-boot"
DEVICES = [
    Device(uuid=f"GPU-{at}", index=at, minor=at, pci_bus_id=f"00000000:{16 * at + 1:02X}:00.0") for at in range(4)
]


class Node:
    """A node's folder of drop-files, its control groups, and one daemon after another."""

    def __init__(self, path):
        self.folder, self.groups, self.site = path / "jobs", path / "cgroup", path / "gpustat"
        self.folder.mkdir()
        self.groups.mkdir()
        self.carried = Carryover(boot=BOOT)
        self.slurmd = Slurmd(path / "slurmd")
        self.lost = ()
        self.devices = DEVICES
        self.start()

    def start(self, removes=True):
        """Starts a daemon; one that is there already is forgotten, as by SIGKILL."""
        groups = ControlGroups(self.groups, "n1")
        gpu_list = GpuList(self.slurmd.where, self.carried)
        hooks = HookAttribution(
            DropFolder(self.folder), groups, "site", lambda: self.lost, self.carried, gpu_list, removes=removes
        )
        self.job_of = {}
        witnesses = [
            SiteFiles(self.site, jobstats),
            StepEnvironments(groups, self.slurmd.proc),
            JobProcesses(self.job_of.get),
        ]
        self.daemon = RankedAttribution(hooks, witnesses, FoundJobs(groups, "site", self.carried, self.slurmd.proc))
        self.daemon._disputes._job_of = self.job_of.get

    def prolog(self, job, gpus, start_s=0, restart=0, boot=BOOT, **more):
        lines = {"JOB": job, "RESTART": restart, "START": T + start_s, "CLUSTER": "alpha", "GPUS": gpus}
        lines |= {"UID": 1001, "USER": "alice", "BOOT": boot, **more}
        text = "".join(f"{key}={value}\n" for key, value in lines.items())
        (self.folder / f"{job}.{restart}").write_text(text)

    def epilog(self, job, end_s, restart=0):
        path = self.folder / f"{job}.{restart}"
        path.with_name(path.name + ".end").write_text(f"{path.read_text()}END={T + end_s}\n")
        path.unlink()

    def cgroup(self, job, processes="4711\n", step="step_extern"):
        folder = self.groups / "freezer" / "slurm" / "uid_1001" / f"job_{job}" / step
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.procs").write_text(processes)

    def ask(self, at_s, processes=None):
        """What lasts and what ended, as (job, begin, devices) and (job, begin, end, devices) in seconds after T."""
        found = self.daemon.holdings(MS + round(at_s * 1000), self.devices, processes or {})
        live = [(h.job_id, h.start_ms / 1000 - T, h.devices) for h in found if h.end_ms is None]
        ended = [
            (h.job_id, h.start_ms / 1000 - T, h.end_ms / 1000 - T, h.devices) for h in found if h.end_ms is not None
        ]
        self.found = found
        return live, ended

    def told(self):
        return [(event.kind, event.detail) for event in self.daemon.take_events()]


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def test_a_job_holds_its_gpus_from_prolog_to_epilog(node):
    assert node.ask(0) == ([], [])
    node.prolog(12, "0,2", 1, restart=3, ACCOUNT="physics", PARTITION="gpu", NAME="train")
    assert node.daemon.changed()
    assert node.ask(1.4) == ([("12", 1, (0, 2))], [])
    assert not node.daemon.changed()
    (holding,) = node.found
    assert (holding.kind, holding.cluster, holding.source, holding.restart) == ("job", "alpha", "hook", 3)
    assert (holding.user, holding.uid, holding.account) == ("alice", 1001, "physics")
    assert (holding.partition, holding.name, holding.shared) == ("gpu", "train", False)
    assert node.ask(10) == ([("12", 1, (0, 2))], [])
    node.epilog(12, 61, restart=3)
    assert node.daemon.changed()
    assert node.ask(61.7) == ([], [("12", 1, 61, (0, 2))])
    assert node.ask(62) == ([], [])
    assert list(node.folder.iterdir()) == []
    assert not node.daemon.changed()
    assert node.told() == []
    assert isinstance(node.daemon, TellingAttribution)
    assert isinstance(node.daemon, PlacingAttribution)


def test_a_job_shorter_than_a_look_is_not_missed(node):
    node.ask(0)
    node.prolog(12, "1", 3)
    node.epilog(12, 5)
    node.prolog(13, "1", 5)
    assert node.ask(6) == ([("13", 5, (1,))], [("12", 3, 5, (1,))])


def test_a_requeued_job_is_two_runs(node):
    node.prolog(12, "0", 0)
    node.ask(1)
    node.epilog(12, 50)
    node.prolog(12, "3", 55, restart=1)
    assert node.ask(56) == ([("12", 55, (3,))], [("12", 0, 50, (0,))])


def test_a_file_that_the_job_s_next_run_has_outlived_is_over(node):
    node.prolog(12, "0", 0)
    node.cgroup(12)
    node.ask(40)
    node.prolog(12, "3", 90, restart=1)
    assert node.ask(91) == ([("12", 90, (3,))], [("12", 0, 40, (0,))])
    assert node.ask(150) == ([("12", 90, (3,))], [])
    assert [path.name for path in node.folder.iterdir()] == ["12.1"]


def test_a_user_without_a_name_is_shown_by_number_and_the_cluster_is_the_site_s(node):
    node.prolog(12, "0", USER="", CLUSTER="", UID=987654321)
    node.ask(1)
    assert (node.found[0].user, node.found[0].cluster) == ("987654321", "site")


def test_a_daemon_that_may_not_remove_tells_an_end_once(node):
    node.start(removes=False)
    node.prolog(12, "0")
    node.ask(1)
    node.epilog(12, 50)
    assert node.ask(51) == ([], [("12", 0, 50, (0,))])
    assert node.ask(52) == ([], [])
    assert [path.name for path in node.folder.iterdir()] == ["12.0.end"]


def test_a_restart_goes_on_with_the_same_holds(node):
    node.prolog(12, "0")
    node.prolog(13, "1")
    node.ask(1)
    node.epilog(13, 40)
    node.start()
    assert node.ask(60) == ([("12", 0, (0,))], [("13", 0, 40, (1,))])


def test_places_that_were_told_once_stay_though_a_gpu_is_lost_and_the_daemon_restarts(node):
    node.prolog(12, "0,3")
    node.ask(1)
    node.lost = (2,)
    node.start()
    assert node.ask(60) == ([("12", 0, (0, 3))], [])


def test_what_ended_while_no_daemon_ran_ends_when_it_was_last_known_to_live(node):
    node.prolog(12, "0")
    node.cgroup(12)
    node.ask(1)
    node.ask(100)
    node.epilog(12, 150)
    (node.folder / "12.0.end").unlink()  # by an Epilog more than an hour later
    node.start()
    node.devices = []
    assert node.ask(9000) == ([], []), "until the driver shows the GPU again"
    node.devices = DEVICES
    assert node.ask(9010) == ([], [("12", 0, 100, (0,))])
    assert node.ask(9020) == ([], [])
    assert node.carried.holds == []


def test_a_file_taken_away_by_hand_ends_the_hold(node):
    node.prolog(12, "0")
    node.ask(1)
    (node.folder / "12.0").unlink()
    assert node.ask(30) == ([], [("12", 0, 30, (0,))])


@pytest.mark.parametrize("leftover", ["empty groups", "no groups"])
def test_a_file_whose_job_a_crash_took_is_ended_and_not_charged(node, leftover):
    node.prolog(12, "0", -5000)
    node.prolog(13, "1", -5000)
    node.cgroup(13)
    if leftover == "empty groups":
        node.cgroup(12, "")
    node.ask(0)
    assert node.ask(CHECK_MS / 1000) == ([("13", -5000, (1,))], [("12", -5000, -5000, (0,))])
    assert [kind for kind, _ in node.told()] == ["job_gone"]
    assert node.ask(60) == ([("13", -5000, (1,))], [])
    assert [path.name for path in node.folder.iterdir()] == ["13.0"]


def test_a_job_whose_epilog_never_ran_ends_when_it_last_had_processes(node):
    node.prolog(12, "0")
    node.cgroup(12)
    node.ask(100)
    node.ask(130)
    node.cgroup(12, "")
    node.ask(160)
    assert node.ask(170) == ([("12", 0, (0,))], []), "the Epilog may be running"
    assert node.ask(190) == ([], [("12", 0, 130, (0,))])


def test_an_epilog_that_comes_late_says_the_end_after_all(node):
    node.start(removes=False)
    node.prolog(12, "0")
    node.cgroup(12)
    node.ask(100)
    node.cgroup(12, "")
    node.ask(130)
    node.ask(160)
    node.epilog(12, 110)
    assert node.ask(300) == ([], [("12", 0, 110, (0,))])
    assert node.ask(301) == ([], [])


@pytest.mark.parametrize("age_s", [0, 50])
def test_a_young_job_needs_no_process_yet(node, age_s):
    node.carried.contained = True
    node.prolog(12, "0", -age_s)
    node.ask(0)
    assert node.ask(5) == ([("12", -age_s, (0,))], [])


def test_without_an_external_step_an_allocation_may_have_no_process(node):
    """salloc --no-shell without PrologFlags=Contain: nothing but the drop-file knows of it."""
    node.prolog(12, "0")
    node.cgroup(13, step="step_batch")
    for at_s in range(0, 4000, 40):
        assert node.ask(at_s) == ([("12", 0, (0,))], [])


def test_a_job_of_another_boot_is_gone(node):
    node.prolog(12, "0", boot="the-boot-before")
    assert node.ask(500) == ([], [("12", 0, 0, (0,))])


def test_places_that_cannot_be_told_leave_the_job_known_and_say_why_once(node):
    node.slurmd.program.unlink()
    node.lost = (1,)
    node.prolog(12, "0")
    assert node.ask(1) == ([("12", 0, ())], [])
    assert node.ask(2) == ([("12", 0, ())], [])
    (unread, (kind, detail)) = node.told()
    assert (unread[0], kind) == ("gpu_list_unknown", "gpu_unknown")
    assert "job 12" in detail
    node.lost = ()
    assert node.ask(3) == ([("12", 0, (0,))], [])


def test_places_are_counted_in_slurm_s_own_list(node):
    node.slurmd.says(("/dev/nvidia[3,1]", 2), ("/dev/nvidia2", 1))
    node.prolog(12, "0,2")
    node.prolog(13, "3")
    assert sorted(node.ask(1)[0]) == [("12", 0, (2, 3)), ("13", 0, ())]
    assert [kind for kind, _ in node.told()] == ["gpu_unknown"]
    assert node.daemon.positions(DEVICES) == {3: 0, 1: 1, 2: 2}


def test_where_there_is_no_gpu_nobody_asks_for_slurm_s_list(node):
    node.devices = []
    node.ask(1)
    assert node.slurmd.calls == []


def test_what_a_job_holds_stays_though_slurm_s_list_is_another_later(node):
    node.slurmd.begin(20, 1.0)
    node.prolog(12, "0")
    assert node.ask(1) == ([("12", 0, (0,))], [])
    node.slurmd.end(20)
    node.slurmd.begin(21, 2.0)
    node.slurmd.says(("/dev/nvidia[1-3]", 3))
    node.prolog(13, "0", 5)
    deadline_s = time.monotonic() + 20
    while (held := {job: devices for job, _, devices in node.ask(6)[0]})["13"] == ():
        assert time.monotonic() < deadline_s
    assert held == {"12": (0,), "13": (1,)}
    assert [kind for kind, _ in node.told()] == ["gpu_list_changed"], "what is being read is nothing unknown"


def test_two_jobs_on_one_gpu_share_it(node):
    node.prolog(12, "0")
    node.prolog(13, "0,1")
    node.prolog(14, "2")
    node.prolog(15, "3", SHARES="50")
    node.ask(1)
    assert {holding.job_id: holding.shared for holding in node.found} == {
        "12": True,
        "13": True,
        "14": False,
        "15": True,
    }


def test_a_file_that_is_none_is_told_once(node):
    (node.folder / "12.0").write_text("nonsense")
    node.ask(1)
    node.ask(2)
    assert node.told() == [("dropfile_refused", "12.0 is no drop-file: it says no job or no begin")]


@pytest.fixture
def job_of(node):
    """The job of each process by its id, as the control groups would say."""
    return node.job_of


def working(pid):
    return GpuProcess(pid, 1001, "python", 1)


def test_processes_where_their_job_is_are_nothing_to_tell(node, job_of):
    job_of |= {1: "12", 2: "13"}
    node.prolog(12, "0")
    node.prolog(13, "1")
    node.prolog(14, "x")  # it cannot be told what this one holds
    node.ask(1, {0: (working(1), working(99)), 1: (working(2),), 2: (), 3: (working(98),)})
    job_of[3] = "14"
    node.ask(2, {3: (working(3),)})
    assert [kind for kind, _ in node.told()] == ["gpu_unknown"]


def test_a_process_on_another_job_s_gpu_disputes_the_order_of_the_node(node, job_of):
    job_of |= {1: "12", 2: "13"}
    node.prolog(12, "0")
    node.prolog(13, "1")
    node.ask(2, {0: (working(1), working(2))})
    node.ask(3, {0: (working(1), working(2))})
    (event,) = node.daemon.take_events()
    assert (event.kind, event.device, event.ts_ms) == ("order_disputed", None, MS + 2000)
    assert "job 13" in event.detail
    node.prolog(14, "2", 50)
    node.ask(51)
    assert [kind for kind, _ in node.told()] == ["order_disputed"], "also of those that begin later"
    node.ask(52)
    assert node.told() == []


def test_a_job_that_computes_without_a_drop_file_is_told_once(node, job_of):
    job_of |= {1: "99"}
    node.ask(1, {0: (working(1),), 1: (working(1),)})
    assert node.told() == [], "it may be the last process of a job that just ended"
    for at_s in (11, 21):
        node.ask(at_s, {0: (working(1),), 1: (working(1),)})
    ((kind, detail),) = node.told()
    assert kind == "hook_missing"
    assert "job 99" in detail


def test_what_is_carried_over_is_what_lasts(node):
    node.prolog(12, "0,2", 1, restart=3)
    node.ask(5)
    (kept,) = node.carried.holds
    assert kept == OpenHold("12.3", "alpha", "12", 3, MS + 1000, MS + 5000, ["GPU-0", "GPU-2"])
