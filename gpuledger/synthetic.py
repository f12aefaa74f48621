"""The synthetic cluster behind a hub: generated in a thread of its own, kept in DIR/demo, apart from real data."""

import logging
import threading
from pathlib import Path
from typing import Final

import click
import msgspec

from gpuledger.demo.feed import OtherCluster, feed
from gpuledger.demo.settings import DemoSettings
from gpuledger.hub import Hub
from gpuledger.settings import Settings
from gpuledger.wiring import clock_ms
from store.errors import StoreError

log = logging.getLogger("gpuledger.synthetic")
DIRECTORY: Final = "demo"
_RETRY_S: Final = 10.0
RIGHTSIZE_S: Final = 30.0


def serve_synthetic(settings: Settings, data: Path, demo: DemoSettings) -> None:
    """Serves DIR/demo until SIGTERM, filling it newest day first while its pages are open."""
    hub = Hub(_hurried(settings), data / DIRECTORY, synthetic=True, home=data)
    stop = threading.Event()
    feeder = threading.Thread(target=_feed, args=(hub, data / DIRECTORY, demo, stop), name="synthetic")

    def ready() -> None:
        click.echo(f"GPU Ledger shows a synthetic cluster on {hub.address}, data in {data / DIRECTORY}.")
        feeder.start()

    try:
        hub.run(ready)
    finally:
        stop.set()
        if feeder.ident is not None:
            feeder.join()


def _hurried(settings: Settings) -> Settings:
    """Two weeks arrive within a minute here: recommendations follow sooner than on a real cluster."""
    replace = msgspec.structs.replace
    schedule = replace(settings.analytics.schedule, rightsize_s=RIGHTSIZE_S)
    return replace(settings, analytics=replace(settings.analytics, schedule=schedule))


def _feed(hub: Hub, directory: Path, demo: DemoSettings, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            feed(hub.push, demo, directory, clock_ms, stop)
        except OtherCluster as error:
            log.warning("synthetic=stopped error=%r", str(error))
            return
        except StoreError as error:
            log.warning("synthetic=waiting error=%r", str(error))
            stop.wait(_RETRY_S)
