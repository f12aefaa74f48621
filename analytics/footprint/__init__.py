"""What each run did with its GPUs, as one row a GPU and one row a run (definitions, section 4).

Raw rows of many runs at once become pieces of time, pieces become stretches, and both become figures, as columns sorted
by GPU and time. All sums are of integers, so the same rows give the same footprint in whatever order they came.
"""

from analytics.footprint.compute import footprints

__all__ = ["footprints"]
