"""Benchmarks, one file each: `python -m benchmarks.NAME --json [--quick]` prints one JSON object on stdout."""

import os
import platform
from pathlib import Path


def machine() -> dict[str, object]:
    """Return what a figure must be read with: cores, processor and Python."""
    return {"cores": len(os.sched_getaffinity(0)), "cpu": _processor(), "python": platform.python_version()}


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
