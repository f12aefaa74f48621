"""Figures of `benchmarks.storage`.

Ratios compare our whole files, keys and heads included, with the values alone of the others: without VictoriaMetrics'
index, and with Prometheus' chunks only. All readings of a node have the same even times, which is kind to the others:
each of their fourteen series keeps its own times.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from benchmarks import machine
from benchmarks.storage import theirs
from benchmarks.storage.ours import at_rest, lossless_bytes
from benchmarks.storage.theirs import Kept
from benchmarks.telemetry import CATALOGUE, Fleet, plan


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Of the fleet."""

    nodes: int = 10
    gpus: int = 8
    hours: int = 24
    interval_s: int = 10
    jitter_ms: int = 0
    seed: int = 7


FROM_MS = 1_790_035_200_000
QUICK = Sizes(nodes=2, hours=6)


def measure(sizes: Sizes) -> dict[str, Any]:
    """Return the benchmark's JSON object for a fleet of these sizes."""
    fleet = Fleet(
        nodes=sizes.nodes,
        gpus=sizes.gpus,
        from_ms=FROM_MS,
        to_ms=FROM_MS + sizes.hours * 3_600_000,
        interval_ms=1000 * sizes.interval_s,
        jitter_ms=sizes.jitter_ms,
        seed=sizes.seed,
    )
    made = plan(fleet)
    ours, exact = at_rest(made), lossless_bytes(made)
    victoria = {finer: theirs.victoria(made, exact=finer) for finer in (False, True)}
    prometheus = theirs.prometheus(made)
    return {
        "name": "storage",
        "machine": machine() | {"duckdb": duckdb.__version__, "pyarrow": pa.__version__},
        "sizes": msgspec.structs.asdict(sizes) | {"rows": ours.rows, "metrics": len(CATALOGUE)},
        "figures": {
            "bytes_per_row": _per(ours.bytes, ours.rows),
            "bytes_per_row_lossless": _per(exact, ours.rows),
            "vs_victoriametrics": _ratio(ours.bytes, victoria[False]),
            "vs_victoriametrics_lossless": _ratio(exact, victoria[True]),
            "vs_prometheus": _ratio(ours.bytes, prometheus),
            "bytes_per_row_before_merge": _per(ours.hourly_bytes, ours.rows),
            "seal_us_per_row": _us(ours.seal_s, ours.rows),
            "merge_us_per_row": _us(ours.merge_s, ours.rows),
            "drop_day_ms": round(1000 * ours.drop_s, 2),
        },
        "peers": _peers(ours.rows, victoria, prometheus),
    }


def _peers(rows: int, victoria: Mapping[bool, Kept | None], prometheus: Kept | None) -> dict[str, Any]:
    versions = theirs.versions()
    told = {
        "VictoriaMetrics": {"catalogue": victoria[False], "lossless": victoria[True]},
        "Prometheus": {"catalogue": prometheus},
    }
    peers: dict[str, Any] = {}
    for name, found in told.items():
        if any(kept is None for kept in found.values()):
            peers[name] = "not installed: the ratio is unknown"
            continue
        peers[f"{name} {versions[name]}"] = {
            f"{of}_{what}": value
            for of, kept in found.items()
            if kept
            for what, value in (
                ("bytes_per_row", _per(kept.bytes, rows)),
                ("index_bytes_per_row", _per(kept.index_bytes, rows)),
                ("cpu_us_per_row", _us(kept.cpu_s, rows)),
            )
        }
    return peers


def _per(size: int, rows: int) -> float:
    return round(size / rows, 3)


def _us(seconds: float, rows: int) -> float:
    return round(1e6 * seconds / rows, 3)


def _ratio(ours: int, kept: Kept | None) -> float | None:
    return None if kept is None else round(ours / kept.bytes, 3)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storage", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="two nodes and six hours")
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    print(json.dumps(measure(msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)), indent=1))


if __name__ == "__main__":
    main()
