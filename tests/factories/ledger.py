"""A small store built row by row: say what there was, then write it through a cursor.

Rows of the rollups are written as given, so a test of a query needs neither ingest nor rollup. Times are epoch
milliseconds; ``T0`` is a Monday, 00:00 UTC.
"""

from collections import defaultdict
from typing import Any, Final

import numpy as np
import pyarrow as pa

from store import sums
from store.database import Cursor
from store.samples import MAX_TIME_MS
from store.schema import WHOLE

HOUR: Final = 3_600_000
MINUTE: Final = 60_000
DAY: Final = 24 * HOUR
T0: Final = 1_795_392_000_000  # Mon 23 Nov 2026, 2026-W48
STATES: Final = ("active", "low", "idle_held", "idle", "unknown")
MODEL: Final = "NVIDIA H100 80GB HBM3"

_TYPES: Final = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}


class Ledger:
    """Rows by table; keys count up from 1. Every method returns the key that it made."""

    def __init__(self) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._gpu_node: dict[int, int] = {0: 0}

    def node(self, name: str | None = None, *, first_ms: int = T0, last_ms: int = T0 + 7 * DAY, **more: Any) -> int:
        key = len(self.tables["node"]) + 1
        row = {"node_key": key, "name": name or f"n{key}", "cluster": "c1", "slurm": True, "interval_ms": 10_000}
        times = {"first_ms": first_ms, "last_ms": last_ms, "received_ms": last_ms}
        self.tables["node"].append(row | times | more)
        return key

    def gpu(self, node: int, *, first_ms: int = T0, **more: Any) -> int:
        key = len(self.tables["gpu"]) + 1
        self._gpu_node[key] = node
        index = sum(1 for row in self.tables["gpu"] if row["node_key"] == node)
        row = {"gpu_key": key, "uuid": f"GPU-{key}", "node_key": node, "model": MODEL, "idx": index}
        size = {"mem_total_mib": 81_559, "power_limit_w": 700.0, "slices": 1, "slices_of": 1}
        self.tables["gpu"].append(row | size | {"first_ms": first_ms, "last_ms": T0 + 7 * DAY} | more)
        return key

    def run(self, job: str = "", *, start_ms: int = T0, end_ms: int | None = T0 + HOUR, **more: Any) -> int:
        key = len(self.tables["run"]) + 1
        job = job or str(1000 + key)
        row = {"run_key": key, "kind": "job", "cluster": "c1", "job_id_raw": job, "job_id": job, "restart": 0}
        who = {"user_name": "ann", "account": "physics", "partition": "gpu", "name": f"train-{key}"}
        state = {"state": "RUNNING" if end_ms is None else "COMPLETED", "start_ms": start_ms, "end_ms": end_ms}
        fixed = {"timelimit_unlimited": False, "shared": False, "updated_ms": start_ms}
        self.tables["run"].append(row | who | state | fixed | more)
        return key

    def hold(self, run: int, gpu: int, *, source: str = "hook", **more: Any) -> None:
        life = self.tables["run"][run - 1]
        times = {"start_ms": life["start_ms"], "end_ms": life["end_ms"]}
        row = {"run_key": run, "gpu_key": gpu, "node_key": self._gpu_node[gpu], "source": source}
        self.tables["allocation"].append(row | times | more)

    def hour(self, gpu: int, run: int | None, hour_ms: int, **more: Any) -> None:
        """A row of gpu_hour, times in minutes of each state (``active=60``), and its minutes in that order.

        ``util_pct``, ``sm_pct``, ``power_w``, ``mem_mib`` and ``energy_j`` (per hour) hold for the covered time.
        """
        spans = {state: more.pop(state, 0) for state in STATES}
        extra = {name: more.pop(name, 0) for name in ("unmeasurable", "stray", "parked")}
        self.tables["gpu_hour"].append({"hour_ms": hour_ms} | self._row(gpu, run, 1, spans, extra, more))
        at = hour_ms
        share = more | ({"energy_j": more["energy_j"] // 60} if "energy_j" in more else {})
        for state, minutes in spans.items():
            count = round(minutes)
            if count:
                row = self._row(gpu, run, minutes / count, {state: 1}, {}, share)
                self.tables["gpu_minute"].append({"minute_ms": at, "times": count} | row)
            at += count * MINUTE

    def _row(
        self, gpu: int, run: int | None, unit: float, spans: dict[str, int], extra: dict[str, int], more: dict[str, Any]
    ) -> dict[str, Any]:
        ms = {f"{state}_ms": round(spans.get(state, 0) * unit * MINUTE) for state in STATES}
        held = sum(ms.values())
        covered = held - ms["unknown_ms"]
        row = {"node_key": self._gpu_node[gpu], "gpu_key": gpu, "run_key": run, "rows": covered // 10_000}
        rest = {f"{name}_ms": extra.get(name, 0) * MINUTE for name in ("unmeasurable", "stray", "parked")}
        return row | ms | rest | {"held_ms": held, "covered_ms": covered} | _metrics(covered, more)

    def rows(
        self, gpu: int, run: int | None, start_ms: int, end_ms: int, *, step_ms: int = 10_000, **more: Any
    ) -> None:
        """Rows of ``hot`` over [start, end) with the given stored values, such as ``util_pct=1000``."""
        for ts in range(start_ms + step_ms, end_ms + 1, step_ms):
            place = {"ts_ms": ts, "span_ms": step_ms, "node_key": self._gpu_node[gpu], "gpu_key": gpu, "run_key": run}
            self.tables["hot"].append(place | {"baseline_mib": 0} | more)

    def finding(self, run: int | None, rule: str = "gpu_never_used", *, gpu_h: float = 1.0, **more: Any) -> int:
        key = len(self.tables["finding"]) + 1
        life = self.tables["run"][run - 1] if run else {"start_ms": T0, "end_ms": T0 + HOUR}
        row = {"finding_id": key, "run_key": run, "rule": rule, "rule_version": 1, "gpu_ms": round(gpu_h * HOUR)}
        times = {"start_ms": life["start_ms"], "end_ms": life["end_ms"] or T0 + HOUR, "found_ms": T0 + DAY}
        words = {"title": "GPU not used", "sentence": "It did nothing.", "fix": "Ask for none.", "confidence": "high"}
        numbers = {"coverage": 0.99, "numbers": '{"gpus":1}', "thresholds": '{"least_s":30}', "closed_ms": None}
        found = row | times | words | numbers | more
        self.tables["finding"].append(found)
        if run is not None:
            self._spread(found)
        return key

    def _spread(self, found: dict[str, Any]) -> None:
        hours = range(found["start_ms"] // HOUR * HOUR, max(found["end_ms"], found["start_ms"] + 1), HOUR)
        each, left = divmod(found["gpu_ms"], len(hours))
        whose = {"run_key": found["run_key"], "rule": found["rule"]}
        self.tables["finding_hour"] += [
            whose | {"hour_ms": hour, "gpu_ms": each + (left if hour == hours[0] else 0)} for hour in hours
        ]

    def word(self, name: str, at_ms: int, *, standing: str = "up", gpus: int = 4, **more: Any) -> None:
        """What Slurm says of a node from a moment on, until the next word and for 75 minutes at most."""
        state = {"up": "IDLE", "offline": "DOWN", "reserved": "RESERVED"}[standing]
        row = {"cluster": "c1", "name": name, "at_ms": at_ms, "state": state, "flags": "", "standing": standing}
        units = {"gpus": gpus, "gpu_units": gpus * WHOLE, "gpu_type": "h100", "partitions": "gpu"}
        self.tables["node_state"].append(row | units | more)

    def put(self, table: str, **row: Any) -> None:
        """Any other row, by column."""
        self.tables[table].append(row)

    def save(self, cur: Cursor) -> None:
        """Writes all rows, and the sums of hours; columns that were not given are NULL."""
        with cur.transaction():
            summed = self.tables.keys() & {"gpu_hour", "spare_hour", "gpu"}
            for table, rows in self.tables.items():
                names = sorted({name for row in rows for name in row})
                content = pa.table({name: _column([row.get(name) for row in rows]) for name in names})
                with cur.table("given", _minute_by_minute(content) if "times" in names else content):
                    cur.execute(f"INSERT INTO {table} BY NAME SELECT * FROM given")
            if summed:
                sums.make(cur, "UTC", 0, MAX_TIME_MS)
        self.tables.clear()


def _column(values: list[Any]) -> pa.Array:
    """The type is said: pyarrow looks for modules that are not there each time that it has to find one out."""
    kinds = {type(value) for value in values}
    kind = next((arrow for python, arrow in _TYPES.items() if python in kinds), pa.null())
    return pa.array(values, kind)


def _minute_by_minute(spans: pa.Table) -> pa.Table:
    """Rows that follow each other alike are given once, with how many minutes they go on."""
    times = spans["times"].to_numpy()
    which = np.repeat(np.arange(len(times)), times)
    minutes = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
    starts = pa.array(spans["minute_ms"].to_numpy()[which] + minutes * MINUTE)
    rows = spans.drop_columns(["times"]).take(which)
    return rows.set_column(rows.column_names.index("minute_ms"), "minute_ms", starts)


def _metrics(covered_ms: int, more: dict[str, Any]) -> dict[str, Any]:
    """Rollup columns of a constant reading over the covered time."""
    gauges = {"util_pct": ("util_pct", 10), "sm_pct": ("sm_active_pct", 10), "power_w": ("power_w", 10)}
    gauges["mem_mib"] = ("mem_used_mib", 1)
    row: dict[str, Any] = {}
    for name, value in more.items():
        if name == "energy_j":
            row["energy_j_sum"] = value
            continue
        column, scale = gauges[name]
        stored = round(value * scale)
        row |= {f"{column}_sum": stored * covered_ms, f"{column}_ms": covered_ms, f"{column}_max": stored}
    return row
