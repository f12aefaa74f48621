"""The synthetic cluster behind a hub: generated in a thread of its own, kept in DIR/demo, apart from real data."""

import logging
import threading
from pathlib import Path
from typing import Final

import click
import msgspec

from gpuledger.demo.feed import PROGRESS, Progress, feed
from gpuledger.demo.settings import DemoSettings
from gpuledger.errors import Refused
from gpuledger.hub import Hub
from gpuledger.settings import Settings
from gpuledger.wiring import clock_ms
from store.errors import StoreError

log = logging.getLogger("gpuledger.synthetic")
DIRECTORY: Final = "demo"
_RETRY_S: Final = 10.0
RIGHTSIZE_S: Final = 30.0


def settings_of(data: Path) -> DemoSettings | None:
    """Returns the settings of the synthetic cluster that lies in a data directory, None where there is none."""
    path = data / DIRECTORY / PROGRESS
    return msgspec.json.decode(path.read_bytes(), type=Progress).settings if path.exists() else None


def serve_synthetic(settings: Settings, data: Path, demo: DemoSettings) -> None:
    """Serves DIR/demo until SIGTERM, filling it newest day first while its pages are open.

    Raises Refused as Hub does, and where the directory holds a synthetic cluster with other settings.
    """
    if settings_of(data) not in (None, demo):
        raise Refused(
            f"{data / DIRECTORY} holds a synthetic cluster with other settings; choose another --data DIR or delete it."
        )
    hub = Hub(_hurried(settings), data / DIRECTORY, synthetic=True, home=data)
    stop = threading.Event()
    feeder = threading.Thread(target=_feed, args=(hub, data / DIRECTORY, demo, stop), name="synthetic")

    def ready() -> None:
        click.echo(f"GPU Ledger shows a synthetic cluster on {hub.address}, data in {data / DIRECTORY}.")
        feeder.start()

    def before_stop() -> None:
        # First: a hub takes in what its inbox holds before it ends, and this thread would go on filling it.
        stop.set()
        if feeder.ident is not None:
            feeder.join()

    hub.run(ready, before_stop)


def _hurried(settings: Settings) -> Settings:
    """Two weeks arrive within a minute here: recommendations and the report follow sooner than on a real cluster."""
    replace = msgspec.structs.replace
    schedule = replace(settings.analytics.schedule, rightsize_s=RIGHTSIZE_S, report_s=RIGHTSIZE_S)
    return replace(settings, analytics=replace(settings.analytics, schedule=schedule))


def _feed(hub: Hub, directory: Path, demo: DemoSettings, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            feed(hub.push, demo, directory, clock_ms, stop)
        except StoreError as error:
            log.warning("synthetic=waiting error=%r", str(error))
            stop.wait(_RETRY_S)
