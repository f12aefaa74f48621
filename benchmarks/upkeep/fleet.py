"""A fleet's rows put into a store as ingest would: inserted, their nodes carried on and marked; no segments."""

from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.telemetry import CATALOGUE, Fleet, Plan, plan, rows
from store import dirty
from store.database import Cursor, Database

BASELINE_MIB: Final = 4

_NODES: Final = """
    INSERT INTO node SELECT n + 1, 'n' || n, 'bench', TRUE, $interval, NULL, NULL, $from_ms, $from_ms, $from_ms, NULL
    FROM range($nodes) AS _(n)"""
_GPUS: Final = """
    INSERT INTO gpu BY NAME
    SELECT (g + 1)::INTEGER AS gpu_key, 'GPU-' || g AS uuid, (g // $gpus + 1)::INTEGER AS node_key,
        'NVIDIA H100 80GB HBM3' AS model, (g % $gpus)::INTEGER AS idx, 81559 AS mem_total_mib, 700.0 AS power_limit_w,
        1 AS slices, 1 AS slices_of, $from_ms AS first_ms, $from_ms AS last_ms
    FROM range($nodes * $gpus) AS _(g)"""
_RUNS: Final = """
    INSERT INTO run BY NAME
    SELECT *, 'job' AS kind, 'bench' AS cluster, run_key::VARCHAR AS job_id_raw, run_key::VARCHAR AS job_id,
        0 AS restart, 'RUNNING' AS state, FALSE AS timelimit_unlimited, FALSE AS shared, 0 AS updated_ms FROM made"""
_HOLDS: Final = """
    INSERT INTO allocation
    SELECT run + 1, node * $gpus + gpu + 1, node + 1, start_ms, end_ms, 'hook' FROM holds"""


class Filled:
    """A store that takes a fleet's rows stretch by stretch."""

    def __init__(self, database: Database, fleet: Fleet) -> None:
        self.database, self.fleet = database, fleet
        made = plan(fleet)
        self.table = pa.concat_tables([_keyed(made, node) for node in range(fleet.nodes)])
        sizes = {"nodes": fleet.nodes, "gpus": fleet.gpus}
        with database.cursor() as cursor, cursor.transaction():
            cursor.execute(_NODES, {"nodes": fleet.nodes, "interval": fleet.interval_ms, "from_ms": fleet.from_ms})
            cursor.execute(_GPUS, {**sizes, "from_ms": fleet.from_ms})
            with cursor.table("made", _runs(made)), cursor.table("holds", made.holds):
                cursor.execute(_RUNS)
                cursor.execute(_HOLDS, {"gpus": fleet.gpus})

    def take(self, after_ms: int, to_ms: int) -> int:
        """Puts in what ends in (after_ms, to_ms] and returns the number of rows."""
        with self.database.cursor() as cursor, cursor.transaction(), cursor.table("arrived", self.table):
            cursor.execute("SELECT nextval('generations')")
            taken = cursor.execute(
                "INSERT INTO hot BY NAME SELECT *, currval('generations') AS gen FROM arrived "
                "WHERE ts_ms > $1 AND ts_ms <= $2",
                [after_ms, to_ms],
            )
            cursor.execute("UPDATE node SET last_ms = $1", [to_ms])
            mark(cursor, range(1, self.fleet.nodes + 1), after_ms, to_ms)
        return taken


def mark(cursor: Cursor, nodes: Iterable[int], from_ms: int, to_ms: int) -> None:
    """Marks a stretch of nodes as ingest does when rows come."""
    dirty.mark_rows(cursor, [(node, from_ms, to_ms) for node in nodes])


def _runs(made: Plan) -> pa.Table:
    names = {"user": "user_name", "account": "account", "partition": "partition"}
    columns = {stored: [getattr(run, name) for run in made.runs] for name, stored in names.items()}
    times = {name: [getattr(run, name) for run in made.runs] for name in ("start_ms", "end_ms")}
    keys = pa.array(np.arange(1, len(made.runs) + 1, dtype=np.int32))
    gpus = pa.array([run.gpus for run in made.runs], pa.int32())
    return pa.table({"run_key": keys, **columns, **times, "alloc_gpus": gpus})


def _keyed(made: Plan, node: int) -> pa.Table:
    found = rows(made, node)
    count = found.num_rows
    keys = {
        "ts_ms": found["ts_ms"],
        "span_ms": found["span_ms"],
        "node_key": pa.array(np.full(count, node + 1, np.int32)),
        "gpu_key": pa.array((node * made.fleet.gpus + found["gpu"].to_numpy() + 1).astype(np.int32)),
        "run_key": pc.add(found["run"], pa.scalar(1, pa.int32())),
        "baseline_mib": pa.array(np.full(count, BASELINE_MIB, np.uint32)),
    }
    return pa.table(keys | {name: found[name] for name in CATALOGUE})
