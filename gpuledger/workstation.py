"""Hub and node daemon in one process: `gpuledger up` on a machine with GPUs."""

import secrets
import threading
from pathlib import Path
from typing import Final

import click
import msgspec

import gpuledger
from collector import runner
from collector.nvml import close_driver, open_driver
from collector.readings import DriverMissing
from collector.settings import CollectorSettings
from gpuledger.hub import Hub
from gpuledger.settings import Settings
from gpuledger.wiring import clock_ms
from store import tokens

OWN_NODE: Final = "up"
SEGMENT_S: Final = 10.0
"""One machine delivers to itself: nothing is gained by waiting a minute, and its owner looks at the page now."""


def why_nothing_to_record() -> str | None:
    """Returns the sentence that says why this machine has no GPU to record, or None where it has one."""
    try:
        found = open_driver()
    except DriverMissing as error:
        return str(error)
    close_driver()
    return None if found.gpus or found.silent else "the NVIDIA driver answers and lists no GPU"


def serve_and_collect(settings: Settings, data: Path) -> None:
    """Serves until SIGTERM with the node daemon in a thread, delivering through the same door as any node."""
    hub = Hub(settings, data)
    stop = threading.Event()
    chosen = msgspec.structs.replace(
        settings.collector,
        hub=hub.address,
        token="",
        token_file=str(_token(hub, data)),
        spool_dir=str(data / "spool"),
        segment_s=min(settings.collector.segment_s, SEGMENT_S),
    )
    agent = threading.Thread(target=_collect, args=(hub, chosen, stop), name="collector")

    def ready() -> None:
        click.echo(f"GPU Ledger records this machine and listens on {hub.address}, data in {data}.")
        agent.start()

    def before_stop() -> None:
        stop.set()
        if agent.ident is not None:
            agent.join()

    hub.run(ready, before_stop)


def _token(hub: Hub, data: Path) -> Path:
    """Returns the file with this machine's token; a new one at each start where the file is gone."""
    path = data / f"{OWN_NODE}.token"
    with hub.database.cursor() as cursor:
        if path.exists() and hub.tokens.holder(path.read_text().strip()) is not None:
            return path
        token = tokens.create(cursor, f"{OWN_NODE}-{secrets.token_hex(4)}", clock_ms())
    path.touch(mode=0o600)
    path.write_text(token + "\n")
    return path


def _collect(hub: Hub, settings: CollectorSettings, stop: threading.Event) -> None:
    try:
        runner.run(settings, cluster=hub.settings.site.cluster, version=gpuledger.__version__, stop=stop)
    except runner.CANNOT_START as error:
        hub.give_up(error)  # pages that never get a row would say nothing of why
