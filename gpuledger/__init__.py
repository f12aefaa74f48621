"""The composition root: commands, the hub's wiring, settings and the synthetic cluster."""
