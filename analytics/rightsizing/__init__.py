"""What to ask for next time: GPUs, their model, cores and time limit of a family of runs (definitions, section 6)."""

from analytics.rightsizing.run_all import rightsize

__all__ = ["rightsize"]
