"""`gpuledger up`: everything in one process."""

from pathlib import Path

import click

from gpuledger.options import WholeNumber, configured
from gpuledger.running import log_to_stderr, with_address
from gpuledger.settings import Settings


@click.command("up")
@configured
@click.option("--host", help="Address to listen on (default: hub.host).")
@click.option("--port", type=WholeNumber(0, 65535), help="Port to listen on (default: hub.port).")
def command(settings: Settings, data: Path, host: str | None, port: int | None) -> None:
    """Record this machine's GPUs and show them. Without an NVIDIA driver: the synthetic cluster."""
    from gpuledger.stores import holds_real_data
    from gpuledger.workstation import serve_and_collect, why_nothing_to_record

    log_to_stderr()
    settings = with_address(settings, host, port)
    nothing = why_nothing_to_record()
    if nothing is None or holds_real_data(data):
        serve_and_collect(settings, data)
        return
    from gpuledger.demo.settings import DemoSettings
    from gpuledger.synthetic import serve_synthetic, settings_of

    why = nothing.partition(": ")[0]  # the reason; the advice after it is for a machine that should have a driver
    click.echo(f"Nothing to record: {why}. This is a synthetic cluster, marked as such on every page.")
    serve_synthetic(settings, data, settings_of(data) or DemoSettings())
