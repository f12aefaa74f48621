"""`python -m benchmarks.storage --json [--quick]`."""

from benchmarks.storage.measure import main

main()
