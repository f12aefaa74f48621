"""The two hooks, run as slurmd runs them, by every shell that /bin/sh may be."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from collector.dropfiles import parse

HOOKS = Path(__file__).parents[2] / "deploy" / "hooks"
SHELLS = [[found] for name in ("sh", "dash", "bash") if (found := shutil.which(name))]
JOB = {
    "SLURM_JOB_ID": "341",
    "SLURM_JOB_GPUS": "0,2",
    "SLURM_JOB_UID": "1001",
    "SLURM_JOB_USER": "alice",
    "SLURM_JOB_ACCOUNT": "physics",
    "SLURM_JOB_PARTITION": "gpu",
    "SLURM_JOB_RESTART_COUNT": "1",
    "SLURM_CLUSTER_NAME": "alpha",
}


@pytest.fixture(params=SHELLS, ids=lambda shell: Path(shell[0]).name)
def run(request, tmp_path):
    folder = tmp_path / "run" / "jobs"

    def hook(name, **changes):
        environment = {**JOB, "GPULEDGER_DROPFILE_DIR": str(folder), **changes}
        done = subprocess.run(
            [*request.param, str(HOOKS / name)],
            env={key: value for key, value in environment.items() if value is not None},
            cwd="/",
            capture_output=True,
            timeout=20,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return folder

    return hook


def files(folder):
    return {path.name: parse(path.name, path.read_bytes()) for path in folder.iterdir()}


def test_a_job_begins_and_ends(run):
    before_s = int(time.time())
    ((name, file),) = files(run("prolog")).items()
    assert name == file.name == "341.1"
    assert (file.job_id, file.restart, file.cluster, file.uid) == ("341", 1, "alpha", 1001)
    assert (file.user, file.account, file.partition, file.positions) == ("alice", "physics", "gpu", ("0", "2"))
    assert file.end_s is None
    assert before_s <= file.start_s <= time.time()
    assert file.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    ((name, mark),) = files(run("epilog")).items()
    assert name == "341.1.end"
    assert (mark.name, mark.start_s, mark.positions) == ("341.1", file.start_s, ("0", "2"))
    assert mark.end_s is not None
    assert file.start_s <= mark.end_s <= time.time()


def test_slurm_says_when_the_job_began(run):
    (file,) = files(run("prolog", SLURM_JOB_START_TIME="1700000000")).values()
    assert file.start_s == 1_700_000_000


@pytest.mark.parametrize("start", ["", "0", "000", "Unknown", "-1"])
def test_where_slurm_does_not_say_the_job_began_now(run, start):
    (file,) = files(run("prolog", SLURM_JOB_START_TIME=start)).values()
    assert abs(file.start_s - time.time()) < 60


@pytest.mark.parametrize(
    "value", ["a\nGPUS=7\nEND=1", 'x"y', "it's", "$(touch pwned)`id`", "tab\there\x07", "größe", "%s%n\\n"]
)
def test_no_value_makes_a_line_of_its_own(run, value):
    folder = run("prolog", SLURM_JOB_ACCOUNT=value, SLURM_JOB_USER=value, SLURM_JOB_PARTITION=value)
    (file,) = files(folder).values()
    assert file.account == file.user == "".join(letter for letter in value if letter.isprintable())
    assert (file.positions, file.end_s, file.job_id) == (("0", "2"), None, "341")


@pytest.mark.parametrize("job_id", ["", "../../etc/passwd", "12 13", "1\n2", "-1", None])
def test_what_is_no_job_id_writes_nothing(run, job_id):
    folder = run("prolog", SLURM_JOB_ID=job_id)
    assert not folder.exists()
    run("epilog", SLURM_JOB_ID=job_id)


@pytest.mark.parametrize("gpus", [None, "", "NoDevFiles"])
def test_a_job_without_gpus_writes_nothing(run, gpus):
    assert not run("prolog", SLURM_JOB_GPUS=None, CUDA_VISIBLE_DEVICES=gpus).exists()
    run("epilog", SLURM_JOB_GPUS=None)


def test_mig_instances_are_named_where_only_cuda_has_them(run):
    folder = run("prolog", SLURM_JOB_GPUS=None, CUDA_VISIBLE_DEVICES="MIG-a,MIG-b", SLURM_JOB_RESTART_COUNT=None)
    (file,) = files(folder).values()
    assert (file.positions, file.visible, file.restart, file.shared) == ((), ("MIG-a", "MIG-b"), 0, False)


def test_mps_is_noted(run):
    (file,) = files(run("prolog", CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="50")).values()
    assert file.shared


def test_an_epilog_without_a_prolog_leaves_nothing(run):
    assert not run("epilog").exists()


def test_a_requeued_job_is_another_run(run):
    run("prolog", SLURM_JOB_RESTART_COUNT="0")
    run("epilog", SLURM_JOB_RESTART_COUNT="0")
    assert set(files(run("prolog"))) == {"341.0.end", "341.1"}


def test_an_epilog_that_counts_the_next_start_already_ends_the_run_before(run):
    """Slurm 22.05 counts the restart at `scontrol requeue`, before the Epilog of what it ends."""
    run("prolog", SLURM_JOB_RESTART_COUNT="0")
    run("prolog", SLURM_JOB_ID="3410")
    assert set(files(run("epilog", SLURM_JOB_RESTART_COUNT="1"))) == {"341.0.end", "3410.1"}
    assert set(files(run("prolog", SLURM_JOB_RESTART_COUNT="1"))) == {"341.0.end", "341.1", "3410.1"}


def test_a_second_begin_of_one_run_takes_its_end_mark_away(run):
    run("prolog")
    run("epilog")
    assert set(files(run("prolog"))) == {"341.1"}


def test_what_is_older_than_an_hour_is_cleared_away_at_the_next_end(run):
    folder = run("prolog", SLURM_JOB_ID="7")
    old = folder / "7.1"
    long_ago_s = time.time() - 4000
    for path in (folder / "5.0.end", folder / ".6.0.99"):
        path.write_text("x")
        os.utime(path, (long_ago_s, long_ago_s))
    os.utime(old, (long_ago_s, long_ago_s))
    run("prolog")
    run("epilog")
    assert {path.name for path in folder.iterdir()} == {"7.1", "341.1.end"}


def test_a_folder_that_takes_no_file_costs_the_record_and_not_the_node(run, tmp_path):
    (tmp_path / "run").write_text("a file where the folder should be")
    run("prolog")
    run("epilog")


def test_a_file_that_cannot_be_marked_is_taken_away(run):
    folder = run("prolog")
    (folder / "341.1.end").mkdir()  # what the mark would replace cannot be replaced
    (folder / "341.1.end" / "x").touch()
    run("epilog")
    assert not (folder / ".341.1").exists()
