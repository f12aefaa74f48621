"""Presentation only: pages and the HTTP API over the named queries of analytics."""
