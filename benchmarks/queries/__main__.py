"""`python -m benchmarks.queries --json [--quick] [--keep DIR]`."""

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

import benchmarks.queries as about
from benchmarks.queries.measure import QUICK, measure
from benchmarks.queries.year.sizes import YearSizes

SIZES = ("nodes", "days", "runs", "users", "accounts", "minute_days")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=about.__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="ten days of eight nodes instead of a year, fewer repeats")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="build the year there, or take what was built there")
    parser.add_argument("--repeats", type=int)
    for name in SIZES:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    given = {name: chosen[name] for name in SIZES if chosen[name] is not None}
    sizes = msgspec.structs.replace(QUICK if chosen["quick"] else YearSizes(), **given)
    repeats = chosen["repeats"] or (3 if chosen["quick"] else 21)
    print(json.dumps(measure(sizes, repeats, chosen["keep"]), indent=1))


if __name__ == "__main__":
    main()
