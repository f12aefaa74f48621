"""What every answer carries: a content policy that allows nothing from outside, caching, and compression."""

import gzip
import zlib
from typing import Final

from dash import Dash
from flask import Response, request

# Mantine and AG Grid write style elements while they run, hence 'unsafe-inline' for styles alone; scripts are ours by
# address or by hash. data: and blob: are needed for Plotly's image export.
POLICY: Final = (
    "default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'"
)
KEPT_REPORT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox allow-popups"
)
MIN_BYTES: Final = 1024
MAX_KEPT_BYTES: Final = 32 << 20
COMPRESSIBLE: Final = ("application/json", "application/javascript", "text/", "image/svg+xml")


def install(app: Dash) -> None:
    """Adds headers and compression to every answer of the app's Flask server."""
    kept: dict[str, bytes] = {}

    @app.server.after_request
    def finish(response: Response) -> Response:
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", "same-origin")
        if response.mimetype == "text/html":
            hashes = " ".join(app.csp_hashes())
            response.headers.setdefault("Content-Security-Policy", POLICY.format(hashes=hashes))
            response.headers.setdefault("Cache-Control", "no-store")
        return compressed(response, kept)


def compressed(response: Response, kept: dict[str, bytes]) -> Response:
    """Returns the response gzipped where that helps.

    Package files, whose address changes with their content, are compressed once and kept in ``kept``: plotly.js has
    4.8 MB, compressed 1.5 MB.
    """
    if (
        response.status_code != 200
        or response.is_streamed
        or not (response.mimetype or "").startswith(COMPRESSIBLE)
        or "gzip" not in request.headers.get("Accept-Encoding", "")
        or "Content-Encoding" in response.headers
    ):
        return response
    lasting = request.path.startswith("/_dash-component-suites/")
    packed = kept.get(request.path) if lasting else None
    if packed is None:
        body = response.get_data()
        if len(body) < MIN_BYTES:
            return response
        packed = gzip.compress(body, 6 if lasting else zlib.Z_BEST_SPEED)
        if lasting and sum(map(len, kept.values())) < MAX_KEPT_BYTES:
            kept[request.path] = packed
    response.set_data(packed)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    return response
