"""What administrators should look at on nodes, one module each, found by importing the package.

None of it is ever charged to a user: it names nodes, GPUs and partitions, and no run's finding rests on it.
"""

import importlib
import pkgutil
from typing import Final

from analytics.node_findings.registry import REGISTERED, NodeRule

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

NODE_RULES: Final[tuple[NodeRule, ...]] = tuple(sorted(REGISTERED.values(), key=lambda each: each.order))
"""Every one of them, in the order in which they are listed."""
