"""`python -m benchmarks.fleet --json [--quick] [--minutes N]`."""

from benchmarks.fleet.measure import main

main()
