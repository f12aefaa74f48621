"""Runs benchmarks of this folder and writes docs/benchmarks.md: `python -m benchmarks [NAME ...]`, all by `make bench`.

Each module prints {"name", "machine", "sizes", "figures", "peers"}; nothing else is known of it here but what its
figures are held to. All of them take more than an hour: those that are named replace their own sections of the page.
"""

import json
import pkgutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import benchmarks
from benchmarks.targets import TARGETS

ROOT = Path(__file__).resolve().parent.parent
SHARED = {"__main__", "load", "peers", "targets", "telemetry"}  # what is no benchmark of its own
TARGET = ROOT / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Written by `make bench`; `python -m benchmarks NAME` measures one anew. Ratios to what is measured beside it in the same
run count more than times, which are those of the machine that is named.
"""


def main(asked: Sequence[str]) -> None:
    """Run them one after the other, since each wants the machine to itself; write the page as each is done."""
    names = sorted({module.name for module in pkgutil.iter_modules(benchmarks.__path__)} - SHARED)
    if unknown := sorted(set(asked) - set(names)):
        raise SystemExit(f"There is no benchmark {unknown[0]}; there are {', '.join(names)}.")
    for name in asked or names:
        before = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
        TARGET.write_text(with_section(before, section(measure(name), commit(), datetime.now(UTC))), encoding="utf-8")
        print(f"Wrote {name} into {TARGET.relative_to(ROOT)}.")


def measure(name: str) -> dict[str, Any]:
    """Return what one benchmark printed; its messages go to the terminal."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def commit() -> str:
    """Return the short name of the commit that is measured."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def section(result: Mapping[str, Any], measured: str, when: datetime) -> str:
    """Return what the page says of a benchmark: machine, sizes, figures with targets, the peers measured beside it."""
    targets = TARGETS.get(result["name"], {})
    parts = [
        f"## {result['name']}\n\nCommit {measured}, {when:%Y-%m-%d %H:%M} UTC. {line(result['machine'])}\n\n",
        f"{line(result['sizes'])}\n\n| figure | value | target |\n|---|---|---|\n",
    ]
    parts += [f"| {name} | {value} | {targets.get(name, '')} |\n" for name, value in result["figures"].items()]
    parts += [f"\nBeside it, {peer}: {line(figures)}\n" for peer, figures in result["peers"].items()]
    return "".join(parts)


def with_section(page: str, new: str) -> str:
    """Return the page with a section in place of the one of the same name; sections are in order of names."""
    old = [f"## {part.strip()}\n" for part in page.split("\n## ")[1:]]
    name = new.partition("\n")[0]
    kept = [part for part in old if part.partition("\n")[0] != name]
    return "\n".join([HEAD, *sorted([*kept, new])])


def line(value: object) -> str:
    """Return a mapping as one line of text, anything else as it is."""
    return " · ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, Mapping) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
