"""What the GPUs of one node do: written into the stand-in driver's scenario, and remembered with the moment."""

import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fakenvml import child_env, write_scenario
from tests.slurm.truth.case import SCENARIO, STATES, Doing, State

_MODEL = "gpu.*.model = a100"


class Stage:
    """GPUs by the minor number of their device file, which is what Slurm counts here."""

    def __init__(self, scenario: Path, minors: Sequence[int]) -> None:
        """``minors`` are the numbers of the device files in the order in which the driver counts the GPUs."""
        self._scenario = scenario
        self._minors = tuple(minors)
        self._uuids = [f"GPU-{uuid.uuid4()}" for _ in minors]  # those of the stand-in are the same on every node
        self._now: dict[int, Doing] = dict.fromkeys(minors, "idle")
        self._watched = True
        self._log: dict[int, list[tuple[int, State]]] = {minor: [(0, "idle_empty")] for minor in self._now}
        self._write()

    @property
    def env(self) -> dict[str, str]:
        """Variables with which a program sees these GPUs."""
        return child_env(self._scenario)

    def index(self, minor: int) -> int:
        """Returns the number by which the driver counts a GPU."""
        return self._minors.index(minor)

    def does(self, changes: Mapping[int, Doing]) -> None:
        """From now on these GPUs do this."""
        if any(self._now[minor] != doing for minor, doing in changes.items()):
            self._now |= changes
            self._write()
            self._note()

    def watched(self, watched: bool) -> None:
        """From now on a daemon reads these GPUs, or none does."""
        self._watched = watched
        self._note()

    def spent(self, minor: int, from_ms: int, to_ms: int) -> tuple[Counter[State], Counter[State]]:
        """Returns milliseconds by state between two moments, and how many changes into or out of each lie there."""
        times: Counter[State] = Counter()
        edges: Counter[State] = Counter()
        log = self._log[minor]
        for (at_ms, state), (next_ms, following) in zip(log, [*log[1:], (to_ms, None)], strict=True):
            inside_ms = min(next_ms, to_ms) - max(at_ms, from_ms)
            if inside_ms > 0:
                times[state] += inside_ms
            if following is not None and from_ms < next_ms < to_ms:
                edges.update((state, following))
        return times, edges

    def _note(self) -> None:
        now_ms = round(time.time() * 1000)
        for minor, doing in self._now.items():
            state = STATES[doing] if self._watched else "unknown"
            if self._log[minor][-1][1] != state:
                self._log[minor].append((now_ms, state))

    def _write(self) -> None:
        lines = [f"count = {len(self._now)}", _MODEL]
        for index, minor in enumerate(self._minors):
            said = (f"uuid = {self._uuids[index]}", f"minor = {minor}", *SCENARIO[self._now[minor]])
            lines += [f"gpu.{index}.{line}" for line in said]
        write_scenario(self._scenario, "\n".join(lines))
