"""The search field's address: it leads to what was meant."""

from flask import Flask, Response, redirect, request

from analytics.queries.search import Meant, meant
from dashboard.filters import MAX_VALUE, Address, job_path, node_path
from dashboard.services import services

RANGE = "30d"
"""Whoever searches does not know when it was."""


def register(server: Flask) -> None:
    """Adds ``/search?text=``."""

    @server.get("/search")
    def search() -> Response:
        text = request.args.get("text", "")[:MAX_VALUE].strip()
        if not text:
            return redirect("/jobs")  # type: ignore[return-value] # werkzeug's own class
        found = services()
        with found.cursor() as cursor:
            return redirect(_place(meant(cursor, found.viewer(), text)))  # type: ignore[return-value] # as above


def _place(found: Meant) -> str:
    if found.kind == "job":
        return job_path(found.value)
    if found.kind == "node":
        return node_path(found.value)
    return Address("/jobs", {found.kind: found.value, "range": RANGE}).href
