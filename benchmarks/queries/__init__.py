"""Every page query, and every page as the server renders it, on one year of a cluster that this writes for itself.

Figures are milliseconds: ``NAME_ms`` the median of the wall time over the pages' default window, ``NAME_cpu_ms`` the
least CPU time of a repeat, ``NAME_90d_ms`` the same over the longest period that pages offer. ``worst_median_ms`` and
``worst_max_ms`` are of the default windows. Nothing is kept between two repeats but what a running hub keeps too, such
as pages of the database file in memory.
"""
