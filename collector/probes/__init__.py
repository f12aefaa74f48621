"""Probes: one file each, found by its name in the settings; no list of them is kept anywhere.

A probe module defines ``build(context) -> Probe``. Probes that talk to the driver (``needs_driver``) are read
together, in the order of the settings, at every row. Of the others those without a rhythm are read at every row too,
whether or not the driver answers; those with one have a thread of their own, since sacct may take minutes.
"""

import importlib
import logging
import pkgutil
import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from collector.inventory import Inventory
from collector.readings import Moment, Report
from collector.settings import CollectorSettings
from store.segment import Holding, ProbeRun

log = logging.getLogger(__name__)


class Context(NamedTuple):
    """What a probe may need to be built."""

    settings: CollectorSettings
    inventory: Inventory
    node: str
    cluster: str


class Probe(Protocol):
    """Something that reads a part of the machine."""

    name: str
    needs_driver: bool
    every_s: float  # the rhythm of a probe that does not need the driver; 0: at every row

    def read(self, moment: Moment) -> Report:
        """Returns what there is to say now. An expected condition is the report's ``error``, never an exception."""


@runtime_checkable
class GatheringProbe(Protocol):
    """A probe that may have to look between two rows as well."""

    def wants_gathering(self, moment: Moment) -> bool:
        """Returns whether it has to look now."""

    def gather(self, moment: Moment) -> None:
        """Looks, and keeps what it saw for the next row."""


@runtime_checkable
class HearingProbe(Protocol):
    """A probe that reads what the holds of this node are about."""

    def note_holds(self, live: Sequence[Holding]) -> None:
        """Hears which holds last from now on."""


class UnknownProbe(ValueError):
    """The settings name a probe that does not exist. The message is one sentence for the person who wrote them."""


def known_probes() -> list[str]:
    """Returns the names of all probes, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def build_probes(context: Context) -> list[Probe]:
    """Returns the probes that the settings name, in their order; raises UnknownProbe."""
    known = known_probes()
    for name in context.settings.probes:
        if name not in known:
            raise UnknownProbe(f"collector.probes names {name!r}, which is no probe; there are: {', '.join(known)}.")
    modules = [importlib.import_module(f"{__name__}.{name}") for name in context.settings.probes]
    return [module.build(context) for module in modules]


def run_probe(probe: Probe, moment: Moment) -> tuple[Report, ProbeRun]:
    """Returns the probe's report and the record of its run; a surprise inside ends this reading, not the daemon."""
    began_s = time.perf_counter()
    try:
        report = probe.read(moment)
    except Exception as error:
        log.exception("probe=%s failed", probe.name)
        report = Report(error=f"{type(error).__name__}: {error}")
    run = ProbeRun(
        probe=probe.name,
        at_ms=moment.wall_ms,
        duration_ms=round((time.perf_counter() - began_s) * 1000, 3),
        ok=not report.error,
        rows=report.count,
        error=report.error,
    )
    return report, run
