"""Evidence as people read it."""

from analytics.evidence_words import said


def test_units_are_said_and_nothing_twice() -> None:
    stored = {
        "run_ms": 7_200_000,
        "busiest_gpu_ms": 30_000,
        "idle_held_gpu_ms": 5_400_000,
        "cpu_efficiency": 0.10999985912715184,
        "min_cpu_efficiency": 0.5,
        "share_pct": 4.166,
        "busy_s": 30.0,
        "watched_ratio": 0.987654,
        "coverage": 0.99,
        "high_coverage": 0.9,
        "rows": 1234,
        "cpu_source": "TRESUsageInTot",
        "last_row_ms": 1_795_392_000_000,
        "unknown": None,
    }
    assert said(stored) == [
        ("run", "2 h"),
        ("busiest GPU", "30 s"),
        ("idle held", "1.5 GPU-h"),
        ("CPU efficiency", "11 %"),
        ("min CPU efficiency", "50 %"),
        ("share", "4.2 %"),
        ("busy", "30 s"),
        ("watched", "99 %"),
        ("high coverage", "90 %"),
        ("rows", "1,234"),
        ("CPU source", "TRESUsageInTot"),
        ("last row", "Mon 23 Nov 00:00"),
    ]
