"""Benchmarks, one file each: `python -m benchmarks.NAME --json [--quick]` prints one JSON object on stdout."""
