"""Bytes a raw row takes at rest: in our store, and the same values in VictoriaMetrics and Prometheus."""
