"""Reads the store; writes findings, recommendations and reports."""
