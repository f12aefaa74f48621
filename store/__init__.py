"""The contract between nodes and hub, and the one place that owns the database."""
