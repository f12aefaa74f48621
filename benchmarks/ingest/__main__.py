"""`python -m benchmarks.ingest --json [--quick] [--no-peers]`."""

from benchmarks.ingest.measure import main

main()
