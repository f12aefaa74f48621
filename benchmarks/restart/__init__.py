"""How soon a hub that was killed under load is there again: `python -m benchmarks.restart --json [--quick]`."""
