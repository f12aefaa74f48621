"""One life of a workstation: busy, idle, lost and back, recorded by `gpuledger up`, then shown at rest by `serve`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.browser import Chromium
from tests.e2e.ledger import Running, run, until, write_config
from tests.e2e.machine import BUSY, LITTLE, LOST, STILL, Doing, Machine

GPUS = 4
INTERVAL_MS = 1000
PHASE_S = 5.0
# Thresholds in the scale of a scenario of a minute, where the defaults are hours.
FAST: dict[str, dict[str, Any]] = {
    "collector": {"slurm": "no", "interval_s": 1, "segment_s": 3, "session_gap_s": 40},
    "analytics__schedule": {"roll_up_s": 1, "footprints_s": 1, "judge_s": 1, "rightsize_s": 5},
    "analytics__footprint": {"blip_s": 1, "gap_s": 5, "refresh_s": 1},
    "analytics__confidence": {"medium_rows": 2, "high_rows": 4, "short_s": 1},
    "analytics__rules__gpu_never_used": {"min_held_s": 2, "busy_s": 1},
    "analytics__rules__idle_now": {"idle_s": 4, "stay_idle_s": 2, "again_s": 20},
}


@dataclass
class Workstation:
    """What was seen while it lived, and where the same data is shown now."""

    machine: Machine
    data: Path
    config: Path
    log: Path
    first_data_s: float = 0.0
    stop_s: float = 0.0
    exit_code: int | None = None
    while_lost: dict[str, Any] = field(default_factory=dict)
    back_ms: int = 0
    live_findings: list[dict[str, Any]] = field(default_factory=list)
    live_nodes_sentence: str = ""
    hub: Any = None

    def command(self, *arguments: object) -> Any:
        """Runs a command on the data and returns how it ended."""
        return run(*arguments, "--data", self.data, "--config", self.config)

    def live(self, chromium: Chromium) -> None:
        """Plays the scenario under `gpuledger up`, from its start to its end by SIGTERM."""
        up = Running(self.log, "up", "--data", self.data, "--config", self.config, "--port", "0", env=self.machine.env)
        try:
            began_s = time.monotonic()
            until("rows of every GPU", lambda: len(_gpus(up)) == GPUS, every_s=0.2)
            self.first_data_s = time.monotonic() - began_s
            self._play(up, chromium)
            began_s = time.monotonic()
            self.exit_code = up.stop()
            self.stop_s = time.monotonic() - began_s
        finally:
            up.end()

    def _play(self, up: Running, chromium: Chromium) -> None:
        machine, until_s = self.machine, time.monotonic()
        idle, little = Doing(STILL, "idle_held"), Doing(LITTLE, "low")
        machine.does({0: Doing(BUSY, "active"), 1: Doing(BUSY, "active"), 2: idle, 3: little})
        until_s = _sleep(until_s)
        # The program leaves GPU 0 for a while: its session goes on, and the GPU is empty. GPU 2 it leaves for good.
        away = Doing(STILL, "idle_empty", held_by_process=False)
        machine.does({0: away, 1: Doing(LOST, "unknown"), 3: idle})
        until("the loss is known", lambda: _state(up, 1) == "unknown", every_s=0.3)
        self.while_lost = up.json("/api/v1/nodes")["items"][0]
        with chromium.sheet(up.address) as sheet:
            self.live_nodes_sentence = sheet.open("/nodes").text("#sentence")
        _sleep(until_s)
        machine.does({0: Doing(BUSY, "active"), 1: Doing(LOST, "unknown"), 3: idle})
        # The agent looks for a lost GPU every 30 s at first: what it was until then stays unknown.
        machine.write({0: Doing(BUSY, "active"), 1: Doing(LITTLE, "low"), 3: idle})
        until("GPU 1 answers again", lambda: _state(up, 1) == "low", every_s=0.3)
        events = up.json(f"/api/v1/nodes/{self.while_lost['name']}")["events"]
        (self.back_ms,) = [event["ts_ms"] for event in events if event["kind"] == "gpu_back"]
        machine.does({0: Doing(BUSY, "active"), 1: little, 3: idle}, at_ms=self.back_ms)
        until("the session on GPU 2 is over and judged", lambda: _found(up, "gpu_never_used"), every_s=0.5)
        until("GPU 3 is found idle now", lambda: _found(up, "idle_now"), every_s=0.5)
        self.live_findings = up.json("/api/v1/findings")["items"]
        machine.does({0: Doing(BUSY, "active"), 1: little, 3: idle})

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Serves the same data with no agent beside it, so that no figure moves while pages are compared."""
        self.hub = Running(
            self.log.with_suffix(".rest"), "serve", "--data", self.data, "--config", self.config, "--port", "0"
        )
        try:
            until("everything is rolled up and judged", self._settled, every_s=0.3)
            yield
            assert self.hub.stop() == 0
        finally:
            self.hub.end()

    def _settled(self) -> bool:
        health = self.hub.json("/api/v1/health")
        return health["pending_hours"] == 0 and health["pending_runs"] == 0

    def json(self, path: str) -> Any:
        return self.hub.json(path)


@contextmanager
def lived(folder: Path, chromium: Chromium) -> Iterator[Workstation]:
    """Yields a workstation whose life is over and whose data is served."""
    machine = Machine(folder / "scenario", GPUS)
    try:
        workstation = Workstation(
            machine, folder / "data", write_config(folder / "config.toml", **FAST), folder / "up.log"
        )
        workstation.live(chromium)
        with workstation.at_rest():
            yield workstation
    finally:
        machine.end()


def _sleep(since_s: float) -> float:
    """Waits for the end of a phase: the scenario is a matter of time, and nothing else tells that it has passed."""
    time.sleep(max(0.0, since_s + PHASE_S - time.monotonic()))
    return time.monotonic()


def _gpus(up: Running) -> list[dict[str, Any]]:
    return [gpu for node in up.json("/api/v1/nodes")["items"] for gpu in node["gpu_now"]]


def _state(up: Running, index: int) -> str | None:
    return next((gpu["state"] for gpu in _gpus(up) if gpu["index"] == index), None)


def _found(up: Running, rule: str) -> bool:
    return any(finding["rule"] == rule for finding in up.json("/api/v1/findings")["items"])
