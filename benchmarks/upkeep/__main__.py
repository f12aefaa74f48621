"""`python -m benchmarks.upkeep --json [--quick]`."""

from benchmarks.upkeep.measure import main

main()
