"""The sacct probe: what is asked, what is passed on once, what survives a restart, and what a failure costs."""

import itertools
import time

import pytest

from collector.inventory import Inventory
from collector.probes import Context, build_probes, run_probe
from collector.readings import Moment
from collector.settings import CollectorSettings
from tests.collector.sacct_program import SacctProgram

NOW_S = 1_800_000_000
HOUR_S = 3600


class Host:
    """The one host that reads accounting, through daemons that come and go."""

    def __init__(self, tmp_path, **settings):
        (tmp_path / "spool").mkdir()
        (tmp_path / "bin").mkdir()
        self.program = SacctProgram(tmp_path / "bin")
        self.settings = CollectorSettings(
            **{
                "probes": ("accounting",),
                "spool_dir": str(tmp_path / "spool"),
                "sacct": str(self.program.path),
                **settings,
            }
        )
        self.start()

    def start(self):
        (self.probe,) = build_probes(Context(self.settings, Inventory(), "login1", "alpha"))

    def read(self, at_s=0):
        self.report, self.record = run_probe(self.probe, Moment((NOW_S + at_s) * 1000 + 250, 5000.0 + at_s))
        assert self.report.count == len(self.report.accounting)
        return self.report.accounting

    def catch_up(self, at_s=0):
        """Reads until there is nothing left to catch up with."""
        found = list(self.read(at_s))
        while self.probe.every_s < self.settings.sacct_every_s:
            found += self.read(at_s)
            assert self.report.error == ""
        return found


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_a_run_is_passed_on_when_it_begins_and_when_it_ends(host):
    said = {"UID": "1001", "JobName": "a|b\nc", "Account": "physics"}
    host.catch_up()
    host.program.run(27, NOW_S + 10, **said)
    (run,) = host.read(300)
    assert (run.db_index, run.job_id_raw, run.state, run.user, run.uid) == (27, "27", "RUNNING", "alice", 1001)
    assert (run.start_ms, run.end_ms, run.alloc_gpus, run.has_batch_step) == ((NOW_S + 10) * 1000, None, 2, True)
    assert run.name == "a|b\nc"
    host.program.run(27, NOW_S + 10, ElapsedRaw="590", **said)
    assert host.read(600) == ()
    host.program.run(27, NOW_S + 10, NOW_S + 700, **said)
    (run,) = host.read(900)
    assert (run.state, run.end_ms, run.elapsed_s) == ("COMPLETED", (NOW_S + 700) * 1000, 690)
    assert (run.cpu_s, run.max_rss_mib) == (60, 1)
    assert host.read(1200) == ()
    assert host.report.error == ""
    assert (host.record.probe, host.record.ok) == ("accounting", True)


def test_the_question_is_bounded_and_its_delimiter_new_each_time(host):
    host.program.run(27, NOW_S - 100)
    host.catch_up()
    asked = host.program.calls()
    assert all({"--allusers", "--duplicates", "--parsable", "--noheader", "--noconvert"} <= set(call) for call in asked)
    tokens = [word for call in asked for word in call if word.startswith("--delimiter=")]
    assert len(set(tokens)) == len(asked)
    assert all(len(token) > len("--delimiter=") + 30 for token in tokens)
    windows = [
        tuple(int(word.split("uts")[1]) - NOW_S for word in call if "time=uts" in word)
        for call in asked
        if "--allocations" in call
    ]
    assert windows[0][0] == -86400
    assert windows[-1][1] == 0
    assert all(after[0] == before[1] - HOUR_S for before, after in itertools.pairwise(windows))
    assert all(end - start <= 7 * HOUR_S for start, end in windows)
    (steps,) = [call for call in asked if "--allocations" not in call]
    assert "--jobs=27" in steps


def test_the_field_that_only_newer_versions_know(host):
    host.program.run(27, NOW_S - 100, Restarts="2")
    assert host.catch_up()[0].restart == 2
    host.program.fields("User", "Start")
    host.start()
    host.read()
    assert "does not know the field Cluster" in host.report.error


def test_only_runs_that_held_gpus_are_passed_on(host):
    host.program.run(1, NOW_S - 900, NOW_S - 100)
    host.program.run(2, NOW_S - 900, NOW_S - 100, AllocTRES="cpu=4,mem=1G")
    host.program.run(3, NOW_S - 900, NOW_S - 900, AllocTRES="", State="FAILED")
    host.program.run(4, NOW_S - 900, NOW_S - 100, State="CANCELLED by 1001", Start="None", AllocTRES="")
    assert [run.db_index for run in host.catch_up()] == [1]


def test_without_gpus_in_accounting_every_run_is_passed_on_and_it_is_said_once(host):
    """F035."""
    for index in range(1, 26):
        host.program.run(index, NOW_S - 900, NOW_S - 100, AllocTRES="cpu=4,mem=1G")
    assert {run.alloc_gpus for run in host.catch_up()} == {None}
    (event,) = host.report.events
    assert event.kind == "gpus_not_tracked"
    assert "AccountingStorageTRES" in event.detail
    host.program.run(26, NOW_S + 10, NOW_S + 100, AllocTRES="cpu=4,mem=1G")
    assert len(host.read(300)) == 1
    assert host.report.events == ()


def test_two_executions_of_one_job(host):
    host.catch_up()
    host.program.run(27, NOW_S, NOW_S + 50, JobIDRaw="18", State="REQUEUED")
    host.program.run(54, NOW_S + 100, NOW_S + 200, JobIDRaw="18")
    assert [(run.db_index, run.job_id_raw, run.state) for run in host.read(300)] == [
        (27, "18", "REQUEUED"),
        (54, "18", "COMPLETED"),
    ]


def test_a_run_that_has_no_step_yet_is_described_again(host):
    host.catch_up()
    host.program.run(27, NOW_S + 290, steps="")
    assert [run.has_batch_step for run in host.read(300)] == [None]
    host.program.run(27, NOW_S + 290)
    assert [run.has_batch_step for run in host.read(600)] == [True]
    assert host.read(900) == ()


def test_what_the_steps_used_may_come_after_the_end(host):
    host.catch_up()
    host.program.run(27, NOW_S, NOW_S + 299, State="FAILED", steps="")
    assert [run.max_rss_mib for run in host.read(300)] == [None]
    host.program.run(27, NOW_S, NOW_S + 299, State="FAILED")
    assert [run.max_rss_mib for run in host.read(600)] == [1]
    assert host.read(900) == ()


def test_an_end_that_came_late_to_the_database_is_found(host):
    """slurmdbd was down for half a day; what slurmctld delivers then lies before every overlap."""
    host.program.run(27, NOW_S - 100)
    host.program.run(28, NOW_S - 100)
    host.catch_up()
    host.read(11 * HOUR_S)
    host.read(12 * HOUR_S)
    host.program.run(27, NOW_S - 100, NOW_S + 50)
    assert [(run.db_index, run.state) for run in host.read(13 * HOUR_S)] == [(27, "COMPLETED")]
    assert host.read(14 * HOUR_S) == ()


def test_a_run_that_was_purged_is_forgotten(host):
    host.program.run(27, NOW_S - 100)
    host.catch_up()
    host.program.records = []
    host.program.write()
    assert host.read(HOUR_S) == ()
    asked = len(host.program.calls())
    assert host.read(2 * HOUR_S) == ()
    assert len(host.program.calls()) == asked + 1


def test_history_is_read_in_pieces_and_each_run_once(tmp_path):
    host = Host(tmp_path, sacct_history_days=3)
    for index in range(1, 60):
        start_s = NOW_S - index * 4500
        host.program.run(index, start_s, start_s + 9000)
    host.program.run(99, NOW_S - 200_000)
    assert host.probe.every_s < 10
    found = host.catch_up()
    assert host.probe.every_s == host.settings.sacct_every_s
    assert sorted(run.db_index for run in found) == [*range(1, 60), 99]


def test_a_restart_asks_again_for_what_may_not_have_been_kept(host):
    host.catch_up(0)
    host.program.run(27, NOW_S + 10, NOW_S + 20)
    assert len(host.read(300)) == 1
    host.start()  # killed before its segment was closed
    assert [run.db_index for run in host.catch_up(301)] == [27]


def test_a_restart_after_a_long_stop_misses_nothing(host):
    host.program.run(26, NOW_S - 50)
    for at_s in range(0, 1500, 300):
        host.catch_up(at_s)
    host.program.run(26, NOW_S - 50, NOW_S + 1300)
    for hour in range(1, 70):
        host.program.run(100 + hour, NOW_S + hour * HOUR_S, NOW_S + hour * HOUR_S + 60)
    host.start()
    found = host.catch_up(80 * HOUR_S)
    assert sorted(run.db_index for run in found) == [26, *range(101, 170)]


def test_a_position_is_kept_only_once_its_runs_are_safe(host):
    position = host.probe._file._path
    host.catch_up(0)
    assert not position.exists()
    host.read(60)
    assert not position.exists()
    host.read(300)
    assert position.exists()
    kept = position.read_bytes()
    position.write_text("{damaged")
    host.start()
    host.read(301)
    assert host.report.error == ""
    position.write_bytes(kept)
    host.start()
    assert host.probe._position.read_to_s == NOW_S + 60


def test_a_reading_for_a_person_leaves_no_trace(host, tmp_path):
    host.read()
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_clock_that_was_set_back(host):
    host.catch_up(0)
    host.program.run(27, NOW_S - 7200, NOW_S - 7100)
    host.read(-7000)
    assert host.report.error == ""


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        ("print('sacct: error: x', file=sys.stderr); sys.exit(1)", "failed (1): sacct: error: x; see whether slurmdbd"),
        ("sys.exit(3)", "failed (3): it says nothing"),
        ("import os; os.kill(os.getpid(), 11)", "failed (-11)"),
    ],
)
def test_a_failure_is_one_sentence_and_loses_nothing(host, trouble, sentence):
    host.catch_up()
    host.program.run(27, NOW_S + 10, NOW_S + 20)
    host.program.trouble(trouble)
    assert host.read(300) == ()
    assert sentence in host.report.error
    assert (host.record.ok, host.record.error) == (False, host.report.error)
    host.program.trouble("")
    assert [run.db_index for run in host.read(600)] == [27]


def test_a_failure_half_way_passes_nothing_on(host):
    host.catch_up()
    host.program.run(27, NOW_S + 10, NOW_S + 20)
    host.program.trouble("'--allocations' in sys.argv or sys.exit(1)")
    assert host.read(300) == ()
    host.program.trouble("")
    assert [run.max_rss_mib for run in host.read(600)] == [1]


def test_one_that_hangs_is_ended_with_what_it_started(tmp_path):
    host = Host(tmp_path, sacct_timeout_s=0.5)
    host.program.trouble("import os, subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)")
    began_s = time.monotonic()
    assert host.read() == ()
    assert time.monotonic() - began_s < 10
    assert "has not answered within 0.5 s" in host.report.error


@pytest.mark.parametrize("path", ["no-such-sacct", "/etc/passwd"])
def test_one_that_is_not_there(tmp_path, path):
    host = Host(tmp_path, sacct=path)
    assert host.read() == ()
    assert f"{path} cannot be run" in host.report.error
    assert "collector.sacct" in host.report.error


def test_what_is_refused_is_told_once(host):
    host.program.run(27, NOW_S + 10, NOW_S + 5)
    host.program.run(28, NOW_S + 10, NOW_S + 15)
    host.catch_up()
    found = host.read(300)
    assert [run.db_index for run in found] == [28]
    assert [(event.kind, "job 27" in event.detail) for event in host.report.events] == [("accounting_refused", True)]
    host.read(600)
    assert host.report.events == ()
