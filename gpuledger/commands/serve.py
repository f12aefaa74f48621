"""`gpuledger serve`."""

from pathlib import Path

import click

from gpuledger.options import WholeNumber, configured
from gpuledger.running import log_to_stderr, with_address
from gpuledger.settings import Settings


@click.command("serve")
@configured
@click.option("--host", help="Address to listen on (default: hub.host).")
@click.option("--port", type=WholeNumber(0, 65535), help="Port to listen on (default: hub.port).")
def command(settings: Settings, data: Path, host: str | None, port: int | None) -> None:
    """Run the hub: receive, store, analyse and show."""
    from collector.systemd import notify
    from gpuledger.hub import Hub

    log_to_stderr()
    hub = Hub(with_address(settings, host, port), data)

    def ready() -> None:
        click.echo(f"GPU Ledger listens on {hub.address}, data in {data}.")
        notify("READY=1")

    hub.run(ready)
