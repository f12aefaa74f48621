"""A workstation of stand-in GPUs that the test drives, and what is true about it: who held what in which state."""

import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.fakenvml import child_env, write_scenario

State = Literal["active", "low", "idle_held", "idle_empty", "unknown"]
BUSY = "util_gpu = 80"
LITTLE = "util_gpu = 10"
LOST = "lost = 1"
STILL = "util_gpu = 0"
PARKED_GIB = 60


@dataclass(frozen=True)
class Doing:
    """What one GPU does for a while. ``state`` is None where nobody holds it."""

    line: str
    state: State | None
    held_by_process: bool = True


@dataclass
class Machine:
    """The stand-in library's scenario, with a real process that holds the GPUs."""

    scenario: Path
    gpus: int
    true_ms: dict[tuple[int, State], int] = field(default_factory=lambda: defaultdict(int))
    edges: dict[tuple[int, State], int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        self.program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self._since_ms = 0
        self._doing: dict[int, Doing] = {}
        self.write({})

    @property
    def env(self) -> dict[str, str]:
        return child_env(self.scenario) | {"FAKENVML_QUIET": "1"}

    def does(self, doing: dict[int, Doing], at_ms: int | None = None) -> None:
        """From now (or ``at_ms``) on the GPUs do this; what they did until then becomes a part of the truth."""
        now_ms = round(time.time() * 1000) if at_ms is None else at_ms
        for gpu in range(self.gpus):
            before, after = self._doing.get(gpu), doing.get(gpu)
            if before and before.state:
                self.true_ms[gpu, before.state] += now_ms - self._since_ms
            for one in (before, after):
                if one and one.state and before != after:
                    self.edges[gpu, one.state] += 1
        self.write(doing)
        self._since_ms, self._doing = now_ms, doing

    def write(self, doing: dict[int, Doing]) -> None:
        lines = [f"count = {self.gpus}"]
        for gpu, one in doing.items():
            lines.append(f"gpu.{gpu}.{one.line}")
            if one.held_by_process:
                lines.append(f"gpu.{gpu}.proc.0 = pid={self.program.pid} type=C mem={PARKED_GIB}GiB")
        write_scenario(self.scenario, "\n".join(lines))

    def end(self) -> None:
        self.program.kill()
        self.program.wait()
