"""Findings, causes and recommendations on labelled runs.

The cluster is simulated as mechanisms (programs that step, wait, sleep, serve), never by the rules' own conditions, and
read as a node's agent would. ``--params`` changes the mechanisms or the thresholds.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from analytics.rules import RULES
from benchmarks import machine
from benchmarks.verdicts.backtest import backtest
from benchmarks.verdicts.baselines import baselines, measured
from benchmarks.verdicts.labelled import START_S, Params, make, read_params
from benchmarks.verdicts.score import ADVICE, accused, causes, per_rule, said
from gpuledger.demo.cluster import DAY_S
from gpuledger.demo.settings import DemoSettings
from store.database import Database

FULL: Final = DemoSettings()
QUICK: Final = DemoSettings(nodes=4, gpus=4, days=3, interval_s=60)


def measure(sizes: DemoSettings, params: Params) -> dict[str, Any]:
    """Return the benchmark's JSON object for a cluster of these sizes."""
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as directory:
        truths = make(Path(directory), sizes, params)
        with Database.open(Path(directory), read_only=True, synthetic=True) as database, database.cursor() as cur:
            found, unjudged = said(cur, "finding"), said(cur, "unjudged")
            simple = baselines(cur, truths)
            fit = backtest(cur, (START_S + sizes.days * DAY_S) * 1000, params.analytics.rightsizing)
    planned = sorted({line.rule for line in truths if line.rule} - {rule.id for rule in RULES})
    scores = per_rule([*(rule.id for rule in RULES), *planned], truths, found)
    return {
        "name": "verdicts",
        "machine": machine(),
        "sizes": msgspec.structs.asdict(sizes) | {"runs": len(truths)},
        "figures": {
            "precision_min": min((each.precision for each in scores.values() if each.precision is not None), default=0),
            "recall_min": min((each.recall for each in scores.values() if each.recall is not None), default=0),
            "per_rule": {rule: msgspec.structs.asdict(each) for rule, each in scores.items()},
            **accused(truths, found),
            **causes(truths, found, unjudged),
            "runs_not_judged": sum("all" in rules for rules in unjudged.values()),
            "backtest_fit": fit,
            "all_rules": measured({run for run, rules in found.items() if rules - ADVICE}, truths),
            "baselines": simple,
        },
        "peers": {},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="three days of a small cluster instead of two weeks")
    parser.add_argument("--params", type=Path, help="TOML or JSON: [families.NAME] and [analytics]")
    for name in DemoSettings.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in DemoSettings.__struct_fields__ if chosen[name] is not None}
    try:
        sizes = msgspec.structs.replace(QUICK if chosen["quick"] else FULL, **given)
        params = read_params(chosen["params"]) if chosen["params"] else Params()
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(json.dumps(measure(sizes, params), indent=1))


if __name__ == "__main__":
    main()
