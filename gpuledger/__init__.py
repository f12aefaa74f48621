"""The composition root: commands, settings, the hub's wiring, and the synthetic cluster."""

__version__ = "0.1.0"
