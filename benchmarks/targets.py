"""What each figure is held to; a figure that is not here is only told."""

from typing import Final

TARGETS: Final[dict[str, dict[str, str]]] = {
    "agent": {
        "cpu_pct_core_10s": "<= 0.1",
        "cpu_pct_core_1s": "<= 0.5",
        "rss_mib": "<= 40",
        "leanest_peer_ratio": "<= 0.5",
    },
    "analysis": {"means_s": "<= 6", "footprint_s": "<= 30"},
    "fleet": {"cpu_pct_core": "<= 35", "lag_s": "<= 60", "page_p95_ms": "<= 250"},
    "ingest": {
        "cpu_pct_core": "<= 25",
        "cpu_us_per_row": "<= 2.5",
        "max_rows_per_s": ">= 400000",
        "vs_victoriametrics": "<= 0.20",
        "vs_prometheus": "<= 0.03",
    },
    "queries": {
        "worst_median_ms": "<= 20",
        "worst_max_ms": "<= 50",
        "raw_run_hot_ms": "<= 10",
        "raw_run_sealed_ms": "<= 25",
    },
    "restart": {"reopen_ms": "<= 500", "healthz_ms": "<= 3000"},
    "storage": {
        "bytes_per_row": "<= 8.7",
        "vs_victoriametrics": "<= 0.97",
        "vs_victoriametrics_lossless": "<= 0.92",
        "vs_prometheus": "<= 0.25",
    },
    "upkeep": {"late_node_hour_ms": "<= 50", "late_fleet_hour_ms": "<= 1500", "day_dropped_ms": "<= 50"},
    "verdicts": {},
}
