"""Rules applied to footprints: findings, and what could not be judged (definitions, section 5)."""

from analytics.judge.run_all import judge

__all__ = ["judge"]
