"""What a compute node reads of the configuration: [site] and [collector], and no meaning of the hub's sections."""

from pathlib import Path
from typing import Final

import msgspec

from analytics.site import SiteSettings
from collector.settings import CollectorSettings
from gpuledger.config import read

HUB_SECTIONS: Final = ("analytics", "hub", "store")
"""Sections that may stand in the same file; a test holds this against gpuledger.settings.Settings."""


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The two sections of a node."""

    site: SiteSettings = SiteSettings()
    collector: CollectorSettings = CollectorSettings()


def load_node(path: Path | None) -> NodeSettings:
    """Returns the node's settings of a file (None: the installed one, else the defaults); raises ConfigError."""
    return read(path, NodeSettings, HUB_SECTIONS)
