"""`python -m benchmarks.agent --json [--quick] [--peers PYTHON]`."""

from benchmarks.agent.measure import main

main()
