"""The queue probe: one question a poll, what is passed on once, and what a failure costs."""

import time
from pathlib import Path
from typing import Any

import pytest

from collector.inventory import Inventory
from collector.probes import Context, build_probes, run_probe
from collector.readings import Moment
from collector.settings import CollectorSettings
from collector.slurm_command import SlurmCommand, SlurmProblem
from store.segment import LiveRun, PendingGpus, QueuePoll
from tests.collector.squeue_program import SqueueProgram
from tests.store.formats.squeue_answers import PENDING, RUNNING, answer_2205, answer_2411

NOW_S = 1_800_000_000


class Host:
    """The one host that polls the queue."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.program = SqueueProgram(folder)
        fixed = {"probes": ("queue",), "squeue": str(self.program.path)}
        self.settings = CollectorSettings(**{**fixed, **settings})
        (self.probe,) = build_probes(Context(self.settings, Inventory(), "login1", "alpha"))

    def read(self, at_s: float = 0) -> QueuePoll:
        (poll,) = self.report(at_s).queue
        return poll

    def report(self, at_s: float = 0) -> Any:
        report, self.record = run_probe(self.probe, Moment(round((NOW_S + at_s) * 1000), 5000.0 + at_s))
        return report

    def runs(self, at_s: float) -> list[LiveRun]:
        return list(self.read(at_s).runs)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_poll_says_demand_and_live_runs(host: Host) -> None:
    host.program.answer(answer_2411(RUNNING, PENDING, RUNNING | {"job_id": 28, "job_state": "COMPLETED"}))
    poll = host.read()
    assert poll.pending == (PendingGpus(partition="gpu", jobs=1, gpus=1),)
    assert [run.job_id_raw for run in poll.runs] == ["27"]
    assert (poll.at_ms, poll.held_gpus) == (NOW_S * 1000, 1)
    assert (host.record.probe, host.record.ok, host.record.rows) == ("queue", True, 3)


def test_a_poll_is_one_question_for_everything(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_USERS", "alice")
    monkeypatch.setenv("SLURM_BITSTR_LEN", "64")
    host.read()
    [(arguments, environment)] = host.program.calls()
    assert arguments == ["--json"]
    assert environment["SLURM_BITSTR_LEN"] == "0"
    assert "SQUEUE_USERS" not in environment


def test_a_poll_stands_for_two_and_a_half_intervals(host: Host) -> None:
    poll = host.read()
    assert 150_000 <= poll.until_ms - poll.at_ms <= 165_000


def test_a_live_run_is_passed_on_when_it_says_something_new(host: Host) -> None:
    other = RUNNING | {"job_id": 28}
    host.program.answer(answer_2205(RUNNING, other))
    assert len(host.runs(0)) == 2
    assert host.runs(60) == []
    host.program.answer(answer_2205(RUNNING, other | {"job_state": "SUSPENDED", "suspend_time": NOW_S}))
    assert [run.job_id_raw for run in host.runs(120)] == ["28"]
    assert host.runs(180) == []


def test_all_live_runs_are_told_again_now_and_then(host: Host) -> None:
    host.program.answer(answer_2205(RUNNING))
    assert [len(host.runs(at_s)) for at_s in (0, 300, 601, 660, 1300)] == [1, 0, 1, 0, 1]


def test_an_execution_after_a_requeue_is_another_run(host: Host) -> None:
    host.program.answer(answer_2205(RUNNING))
    host.read()
    host.program.answer(answer_2205(RUNNING | {"restart_cnt": 1}))
    assert [run.restart for run in host.runs(60)] == [1]


def test_what_is_refused_is_told_once(host: Host) -> None:
    host.program.answer(answer_2205(RUNNING | {"start_time": 0}, RUNNING))
    (event,) = host.report().events
    assert (event.kind, event.detail) == (
        "queue_refused",
        "squeue: job 27 holds GPUs and has no id or no start",
    )
    assert host.report(60).events == ()


def test_polls_are_a_little_apart_from_those_of_other_hosts(host: Host) -> None:
    inventory = Inventory()
    probes = [build_probes(Context(host.settings, inventory, f"login{n}", "alpha"))[0] for n in range(8)]
    rhythms = [probe.every_s for probe in probes]
    assert len(set(rhythms)) == 8
    assert all(60 <= every_s <= 66 for every_s in rhythms)
    assert host.probe.every_s == rhythms[1]


def test_failures_in_a_row_make_polls_rare(host: Host) -> None:
    usual_s = host.probe.every_s
    host.program.trouble("sys.exit('slurm_load_jobs error: Unable to contact slurm controller (connect failure)')")
    report = host.report()
    assert "Unable to contact slurm controller" in report.error
    assert report.error.endswith("see whether slurmctld answers (scontrol ping)")
    assert report.queue == ()
    assert host.probe.every_s == 2 * usual_s
    for _ in range(20):
        host.report()
    assert host.probe.every_s == 900
    host.program.trouble("")
    host.read()
    assert host.probe.every_s == usual_s


def test_a_squeue_that_hangs_is_given_up_with_what_it_started(tmp_path: Path) -> None:
    host = Host(tmp_path, queue_timeout_s=1.0)
    # The child keeps the pipe open, as a wrapper's squeue would.
    host.program.trouble(
        "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\n"
        "(here / 'child').write_text(str(child.pid))\nchild.wait()"
    )
    began_s = time.monotonic()
    assert "has not answered within 1 s" in host.report().error
    assert time.monotonic() - began_s < 30
    pid = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{pid}/stat")
    deadline_s = time.monotonic() + 20
    while state.exists() and state.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_an_answer_without_end_is_refused(tmp_path: Path) -> None:
    program = SqueueProgram(tmp_path)
    program.trouble("while True: sys.stdout.write('x' * 65536)")
    said = {"setting": "collector.squeue", "probe": "queue", "look": "look"}
    with pytest.raises(SlurmProblem, match=r"answered more than 1 MiB: take queue out of collector\.probes"):
        SlurmCommand(str(program.path), 30.0, most_bytes=1 << 20, **said).ask("--json")


def test_no_squeue_is_one_sentence_with_the_next_step(tmp_path: Path) -> None:
    host = Host(tmp_path, squeue=str(tmp_path / "nowhere"))
    assert "cannot be run (No such file or directory): install Slurm's client commands here" in host.report().error


def test_an_answer_that_is_none_is_one_sentence(host: Host) -> None:
    host.program.answer(b"squeue: unrecognized option '--json'")
    assert "gives no queue" in host.report().error
    assert "built with JSON" in host.report().error
