"""`gpuledger demo`."""

from pathlib import Path

import click

from gpuledger.demo.settings import DemoSettings
from gpuledger.errors import USAGE, Refused
from gpuledger.options import WholeNumber, configured
from gpuledger.running import log_to_stderr, with_address
from gpuledger.settings import Settings, linked


@click.command("demo")
@configured
@click.option("--nodes", default=16, show_default=True, help="Nodes of the cluster.")
@click.option("--gpus", default=8, show_default=True, help="GPUs of each node.")
@click.option("--days", default=14, show_default=True, help="Days of history.")
@click.option("--interval", default=30, show_default=True, help="Seconds between two rows of a GPU.")
@click.option("--seed", default=1, show_default=True, help="Begun in the same hour, a seed gives the same cluster.")
@click.option("--port", type=WholeNumber(0, 65535), help="Port to listen on (default: hub.port).")
@click.option("--no-serve", is_flag=True, help="Fill the directory and exit.")
def command(  # noqa: PLR0913, PLR0917 - one argument an option
    settings: Settings,
    data: Path,
    nodes: int,
    gpus: int,
    days: int,
    interval: int,
    seed: int,
    port: int | None,
    no_serve: bool,
) -> None:
    """Show a synthetic cluster, sent through the same inbox and analysis as real data. It lives in DIR/demo."""
    try:
        demo = DemoSettings(nodes=nodes, gpus=gpus, days=days, interval_s=interval, seed=seed)
    except ValueError as error:
        raise Refused(str(error), exit_code=USAGE) from error
    if no_serve:
        _fill(settings, data, demo)
        return
    from gpuledger.synthetic import serve_synthetic

    log_to_stderr()
    serve_synthetic(with_address(settings, None, port), data, demo)


def _fill(settings: Settings, data: Path, demo: DemoSettings) -> None:
    from analytics.reports.archive import weekly_job
    from gpuledger.demo.feed import OtherCluster
    from gpuledger.demo.fill import Filled, fill
    from gpuledger.synthetic import DIRECTORY
    from gpuledger.wiring import clock_ms
    from store.errors import StoreError

    def tell(filled: Filled) -> None:
        click.echo(f"{filled.rows:,} rows in {filled.segments:,} segments", err=True)

    site = linked(settings).site
    try:
        filled = fill(
            data / DIRECTORY,
            demo,
            clock_ms(),
            settings.store,
            settings.analytics,
            site,
            more=[weekly_job(site, settings.analytics.schedule.report_s)],
            on_day=tell,
        )
    except (StoreError, OtherCluster) as error:
        raise Refused(str(error)) from error
    click.echo(f"{data / DIRECTORY} holds the synthetic cluster: {filled.rows:,} rows were added.")
