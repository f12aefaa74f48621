"""A pytest plugin: how long a soak test goes on, by which seed, and the record of `make soak` in docs/soak.md."""

import os
import platform
import subprocess
import time
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

HEADER = """# Soak results

Written by `make soak`. Each test repeats its round, drawn from a seed, until its time is up; `make test` runs the same
tests for a few seconds. A failure names its round, and `--soak-seed` with that number begins there.

Kills are SIGKILL, sent at a moment drawn at random or at, or shortly after, a named step of a worker: opening (which
replays the write-ahead log), inbox, ingest, rollups, sealing, merging, retention, checkpoint. Meanwhile nodes deliver
out of order, late and more than once, and what was not acknowledged again. An oracle outside of the process knows
every acknowledged row: it compares them with hot and sealed rows, with the hours, with the manifest and the files on
disk, and has the rollups computed anew from the raw rows. What each worker was at when it was killed is counted below.

Commit {commit}, {date} UTC, Python {python} on {cores} cores, which had {load:.0f} processes to run at the end.

| test | seed | seconds | rounds | result |
|---|---|---|---|---|
"""
RESULTS = pytest.StashKey[dict[str, "Soak"]]()


class Soak:
    """One test's repetitions: `for random in soak.rounds()` until the time is up, at least once.

    `kills` is how many rounds the test of kills goes on for at least; what a test puts into `facts` is in the report.
    """

    def __init__(self, seed: int, seconds: float, kills: int) -> None:
        """Start at round `seed`; every later round has the next number."""
        self.seed = seed
        self.seconds = seconds
        self.kills = kills
        self.facts: dict[str, str] = {}
        self.round = seed
        self.outcome = "not finished"

    def rounds(self, at_least: int = 1) -> Iterator[Random]:
        """Yield a generator of random numbers for each round."""
        deadline = time.monotonic() + self.seconds
        while True:
            yield Random(self.round)
            if time.monotonic() >= deadline and self.done >= at_least:
                return
            self.round += 1

    @property
    def done(self) -> int:
        """Number of rounds begun."""
        return self.round - self.seed + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that `make soak` sets."""
    group = parser.getgroup("soak")
    group.addoption("--soak-s", type=float, default=5, help="seconds for each soak test")
    group.addoption("--soak-kills", type=int, default=1, help="kills of the store at least, however long they take")
    group.addoption("--soak-seed", type=int, default=1, help="number of the first round")
    group.addoption("--soak-report", type=Path, help="file to write the results to")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the results of this run."""
    config.stash[RESULTS] = {}


@pytest.fixture
def soak(request: pytest.FixtureRequest) -> Soak:
    """The repetitions of this test."""
    options = request.config.option
    trial = Soak(options.soak_seed, options.soak_s, options.soak_kills)
    request.config.stash[RESULTS][request.node.nodeid] = trial
    return trial


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the outcome of a soak test, and the round in which it failed."""
    report = yield
    trial = item.config.stash[RESULTS].get(item.nodeid)
    if trial and report.when == "call":
        trial.outcome = report.outcome
        if report.failed:
            report.sections.append(("Soak", f"failed in round {trial.round}: --soak-seed {trial.round} begins there"))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write docs/soak.md where asked to."""
    target: Path | None = session.config.option.soak_report
    if target is None:
        return
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    head = HEADER.format(
        commit=commit.stdout.strip(),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        python=platform.python_version(),
        cores=os.cpu_count(),
        load=os.getloadavg()[1],
    )
    results = session.config.stash[RESULTS]
    rows = [
        f"| {name} | {trial.seed} | {trial.seconds:g} | {trial.done:,} | {trial.outcome} |\n"
        for name, trial in results.items()
    ]
    target.write_text(head + "".join(rows) + "".join(_facts(name, trial) for name, trial in results.items()))


def _facts(name: str, trial: Soak) -> str:
    if not trial.facts:
        return ""
    lines = "".join(f"| {what} | {found} |\n" for what, found in trial.facts.items())
    return f"\n## {name.rpartition('::')[2].replace('_', ' ').removeprefix('test ')}\n\n| | |\n|---|---|\n{lines}"
