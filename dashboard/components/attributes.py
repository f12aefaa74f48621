"""HTML attributes with a hyphen, which Python cannot spell as keyword arguments."""

from typing import Any


def attributes(**names: Any) -> dict[str, Any]:
    """Returns ``aria_label="x"`` as ``{"aria-label": "x"}``; what is None is left out."""
    return {name.replace("_", "-"): value for name, value in names.items() if value is not None}
