"""What figures and findings rest on as names and values, so that a change of it can be told from a change of use."""

from typing import Final

import msgspec

from analytics.rules import RULES
from analytics.settings import AnalyticsSettings
from store.settings import StateSettings

SOFTWARE: Final = "gpuledger"
STATES: Final = "states."
"""Beginning of the names on which the hours in each state rest: across a change of these no trend is drawn."""
VERSION: Final = ".version"
_WORDS: Final = ("fix", "help_url", "contact")
"""Of a rule's section what people read and nothing is judged by."""


def in_force(analytics: AnalyticsSettings, states: StateSettings, software: str) -> dict[str, str]:
    """Returns every threshold and version by name; ``software`` is the version of GPU Ledger."""
    found = {SOFTWARE: software}
    found |= _named(STATES.rstrip("."), states)
    for rule in RULES:
        found[f"{rule.id}{VERSION}"] = str(rule.version)
        params = _named(rule.id, getattr(analytics.rules, rule.id))
        found |= {name: value for name, value in params.items() if name.rpartition(".")[2] not in _WORDS}
    for part in ("footprint", "confidence", "excluded", "rightsizing"):
        found |= _named(part, getattr(analytics, part))
    found["overrides"] = _said(analytics.overrides)
    return found


def _named(prefix: str, settings: msgspec.Struct) -> dict[str, str]:
    return {f"{prefix}.{name}": _said(getattr(settings, name)) for name in settings.__struct_fields__}


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else msgspec.json.encode(value, order="deterministic").decode()
