"""Runs every benchmark of this folder and writes docs/benchmarks.md. Run by `make bench`.

Each module prints {"name", "machine", "sizes", "figures", "peers"}; nothing else is known of it here.
"""

import json
import pkgutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import benchmarks

ROOT = Path(__file__).resolve().parent.parent
SHARED = {"__main__", "load", "peers", "telemetry"}  # what is no benchmark of its own
TARGET = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    """Run all, one after the other, since each wants the machine to itself; write the page when all are done."""
    found = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)}
    names = sorted(found - SHARED)
    if not names:
        print("No benchmark is here yet.")
        return
    TARGET.write_text(page([measure(name) for name in names], commit(), datetime.now(UTC)), encoding="utf-8")
    print(f"Wrote {TARGET.relative_to(ROOT)}.")


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


def page(results: list[dict[str, Any]], measured: str, when: datetime) -> str:
    """Return the page: a section a benchmark, with its machine, sizes, figures and the peers measured beside it."""
    parts = [f"# Benchmarks\n\nWritten by `make bench`. Commit {measured}, {when:%Y-%m-%d %H:%M} UTC.\n"]
    for result in results:
        parts.append(f"\n## {result['name']}\n\n{line(result['machine'])}\n\n{line(result['sizes'])}\n\n")
        parts.append("| figure | value |\n|---|---|\n")
        parts += [f"| {name} | {value} |\n" for name, value in result["figures"].items()]
        parts += [f"\nBeside it, {peer}: {line(figures)}\n" for peer, figures in result["peers"].items()]
    return "".join(parts)


def line(value: object) -> str:
    """Return a mapping as one line of text, anything else as it is."""
    return " · ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, Mapping) else str(value)


if __name__ == "__main__":
    main()
