"""Telemetry of a GPU fleet for benchmarks of the store: seeded, realistic enough to compress like the real thing.

Values are integers in store units. Not the synthetic cluster of `gpuledger demo`, which simulates mechanisms and makes
whole segments: this makes 60 million rows in a minute and knows nothing of Slurm.
"""

from benchmarks.telemetry.plan import Activity, Fleet, Plan, Run, plan
from benchmarks.telemetry.rows import CATALOGUE, EXACT, rows

__all__ = ["CATALOGUE", "EXACT", "Activity", "Fleet", "Plan", "Run", "plan", "rows"]
