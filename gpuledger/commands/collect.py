"""`gpuledger collect`: the node daemon. It imports nothing of the hub."""

from pathlib import Path

import click

import gpuledger
from gpuledger.errors import FAILED, USAGE, Refused
from gpuledger.options import read_node_settings
from gpuledger.printing import as_json, emit
from gpuledger.running import log_to_stderr


@click.command("collect")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration file.")
@click.option("--once", is_flag=True, help="Print one reading of every probe and exit.")
@click.option("--json", "json_", is_flag=True, help="With --once: print JSON.")
def command(config: Path | None, once: bool, json_: bool) -> None:
    """Sample this node's GPUs and deliver segments to the hub."""
    import msgspec

    from collector import runner
    from collector.deliver import BadAddress
    from collector.once import lines

    settings = read_node_settings(config)
    try:
        if once:
            reading = runner.run_once(settings.collector, cluster=settings.site.cluster)
            emit(as_json(msgspec.to_builtins(reading)) if json_ else "\n".join(lines(reading)))
            if reading.problems:
                raise click.exceptions.Exit(FAILED)
            return
        log_to_stderr()
        runner.run(settings.collector, cluster=settings.site.cluster, version=gpuledger.__version__)
    except BadAddress as error:
        raise Refused(str(error), exit_code=USAGE) from error
    except runner.CANNOT_START as error:
        raise Refused(str(error)) from error
