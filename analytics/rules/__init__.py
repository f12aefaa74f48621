"""The rules: one module each, found by importing the package. Adding a rule is adding a file."""

import importlib
import pkgutil
from typing import Final

from analytics.rules.registry import REGISTERED, Rule

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

RULES: Final[tuple[Rule, ...]] = tuple(sorted(REGISTERED.values(), key=lambda each: (each.order, each.id)))
"""Every rule, in the order in which idle time is given away."""
