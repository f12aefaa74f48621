"""Builders of small stores, row by row, for tests."""
