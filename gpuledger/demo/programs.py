"""The programs on a node's GPUs, as an agent there would have listed them: one a run and GPU."""

from collections.abc import Iterator, Sequence

import numpy as np

from gpuledger.demo.mechanisms import activity
from gpuledger.demo.mechanisms.activity import Activity
from gpuledger.demo.people import PEOPLE
from gpuledger.demo.scheduling import Run
from gpuledger.demo.world import World
from store.segment import ProcessSeen

FIRST_PID = 2000
MOST_PIDS = 4_000_000  # a 64-bit kernel begins anew at 4,194,304
MOST_GPUS = 16  # of a node: a run has a PID for each


class Programs:
    """Remembers when each GPU of a run has a process: every segment of the run asks."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._spans: dict[int, tuple[tuple[float, float, int] | None, ...]] = {}

    def seen(self, node: int, runs: Sequence[Run], start_s: int, end_s: int) -> Iterator[ProcessSeen]:
        """Yields the processes on ``node`` in [start_s, end_s); ``runs`` are those of the segment's holdings."""
        for holding, run in enumerate(runs):
            family = run.request.family
            for (place, gpu), span in zip(run.places, self._spans_of(run), strict=True):
                if place != node or span is None:
                    continue
                from_s, to_s, mem_mib = span
                from_s, to_s = max(from_s, start_s), min(to_s, end_s)
                if from_s < to_s:
                    yield ProcessSeen(
                        device=gpu,
                        pid=FIRST_PID + (run.db_index * MOST_GPUS + gpu) % MOST_PIDS,
                        name=family.program,
                        uid=PEOPLE[family.user].uid,
                        from_ms=round(from_s * 1000),
                        to_ms=round(to_s * 1000),
                        mem_max_mib=mem_mib,
                        holding=holding,
                    )

    def _spans_of(self, run: Run) -> tuple[tuple[float, float, int] | None, ...]:
        found = self._spans.get(run.db_index)
        if found is None:
            least_s = self._world.settings.interval_s
            found = tuple(_span(each, run, least_s) for each in self._world.activities(run))
            self._spans[run.db_index] = found
        return found


def _span(does: Activity, run: Run, least_s: float) -> tuple[float, float, int] | None:
    """Returns when a GPU has a process, in epoch seconds, and its memory; None where an agent hardly meets it."""
    with_one = np.flatnonzero(does.levels[:, activity.PROCESSES])
    if not with_one.size:
        return None
    from_s, to_s = float(does.edges_s[with_one[0]]), float(does.edges_s[with_one[-1] + 1])
    if to_s - from_s < least_s:
        return None
    return run.start_s + from_s, run.start_s + to_s, int(does.levels[with_one, activity.MEM_MIB].max())
