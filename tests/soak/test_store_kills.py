"""A store that is killed at any moment, again and again, under load: never a row lost, never one twice."""

import signal
import statistics
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Final

import pytest

from store import tokens
from store.database import Database
from tests.soak.life import Born, Fate, live
from tests.soak.load import ROWS, Nodes
from tests.soak.moments import Moments
from tests.soak.oracle import Tally, look
from tests.soak.plugin import Soak

pytestmark = pytest.mark.soak

LOOK_EVERY: Final = 100
LONGEST_S: Final = 1.5
"""A life ends after this at the latest, where the step that was to be its last did not come."""
START_S: Final = 60.0

_STEPS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "start": {"": ("opening the database", "removing unlisted files", "opening the inbox")},
    "inbox": {"": ("before the write", "before the sync", "after the sync", "before the file goes")},
    "ingest": {"": ("before the transaction", "after the transaction", "before the rollups", "after the rollups")},
    "upkeep": {
        "seal, ": ("before the file", "before the list", "before the commit", "after the commit"),
        "merge, ": ("before the file", "before the list", "before the commit", "after the commit"),
        "minutes, ": ("before the file", "before the list", "before the commit", "after the commit"),
        "retention, ": ("before the list", "before the commit", "before the files go", "after the files went"),
        "": ("checkpoint",),
    },
}
ENDS: Final = [
    (worker, part + step) for worker, parts in _STEPS.items() for part, steps in parts.items() for step in steps
]


def drawn(random: Random) -> tuple[Fate | None, float]:
    """Return the step at or after which a life ends, None for any moment at all, and how long it lasts at most."""
    if random.random() < 0.2:
        return None, random.uniform(0, 0.8)
    worker, step = random.choice([*ENDS, *[("start", "opening the database")] * 3])
    nth = 1 if worker == "start" or step.startswith(("merge", "minutes", "retention")) else random.randint(1, 4)
    return Fate(worker, step, nth, random.choice((0.0, random.uniform(0, 0.03)))), LONGEST_S


class Lives:
    """The lives of one store, and what they came to."""

    def __init__(self, directory: Path) -> None:
        """Make the store and the token of its nodes."""
        self.data = directory / "data"
        with Database.open(self.data) as database, database.cursor() as cursor:
            self._token = tokens.create(cursor, "nodes", 0)
        self.nodes = Nodes()
        self.reopened_ms: list[float] = []
        self.at: Counter[str] = Counter()
        self.unlisted = 0
        self._moments_path = directory / "moments"
        self._moments = Moments(self._moments_path)
        # A process forked from one that has imported everything begins within milliseconds.
        self._context: ForkServerContext = get_context("forkserver")
        self._context.set_forkserver_preload(["tests.soak.life"])

    def one(self, random: Random) -> None:
        """Begin a life, load it and see it end by SIGKILL."""
        fate, longest_s = drawn(random)
        self._moments.clear()
        heard, said = self._context.Pipe(duplex=False)
        process = self._context.Process(target=live, args=(self.data, self._moments_path, fate, said))
        process.start()
        said.close()
        timer = threading.Timer(longest_s, process.kill)
        timer.start()
        try:
            self._load(heard, random)
        finally:
            timer.cancel()
            process.kill()
            _await_end(process)
            heard.close()
        self.at.update(f"{worker}: {step}" for worker, step in self._moments.read().items())

    def _load(self, heard: Connection, random: Random) -> None:
        try:
            born: Born = heard.recv()
        except EOFError:
            return  # it ended before it was born
        self.reopened_ms.append(born.reopen_ms)
        self.unlisted += born.unlisted
        self.nodes.send_until_it_ends(born.port, self._token, random)

    def close(self) -> None:
        """Close what they told us by."""
        self._moments.close()


def _await_end(process: BaseProcess) -> None:
    process.join(START_S)
    code = process.exitcode
    process.close()
    assert code == -signal.SIGKILL, f"it ended by itself: {code}"


def told(lives: Lives, tally: Tally, kills: int) -> dict[str, str]:
    """Return what the report says of the lives."""
    nodes, times = lives.nodes, sorted(lives.reopened_ms)
    return {
        "kills": f"{kills:,}",
        "segments acknowledged": f"{len(nodes.acknowledged):,}",
        "rows acknowledged": f"{tally.rows:,}",
        "rows lost": f"{tally.lost:,}",
        "rows doubled": f"{tally.doubled:,}",
        "deliveries": f"{nodes.delivered:,}, of which {nodes.repeated:,} again and {nodes.late:,} late",
        "times that everything was counted": f"{tally.looks:,}",
        "files off the list removed at start": f"{lives.unlisted:,}",
        "reopened and asked, ms": f"median {statistics.median(times):.0f}, longest {times[-1]:.0f}",
        **{f"killed at {step}": f"{count:,}" for step, count in sorted(lives.at.items())},
    }


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    made = Lives(tmp_path)
    yield made
    made.close()


def test_every_acknowledged_row_is_there_once_after_any_kills(soak: Soak, lives: Lives) -> None:
    tally = Tally()
    for kill, random in enumerate(soak.rounds(at_least=soak.kills), 1):
        lives.one(random)
        if kill % LOOK_EVERY == 0:
            look(lives.data, lives.nodes, tally)
    look(lives.data, lives.nodes, tally)
    assert tally.rows >= ROWS
    soak.facts.update(told(lives, tally, soak.done))
