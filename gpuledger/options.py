"""Options that several commands share."""

import functools
import getpass
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpuledger.config import ConfigError
from gpuledger.errors import USAGE, Refused
from gpuledger.node import NodeSettings, load_node
from gpuledger.source import Source

if TYPE_CHECKING:
    from gpuledger.settings import Settings

Command = Callable[..., Any]
T = TypeVar("T")


class WholeNumber(click.IntRange):
    """A number between bounds; click's own would say "is not a valid integer range" of a word."""

    name = "whole number"


def configured(function: Command) -> Command:
    """Adds --config and --data; the command gets ``settings`` and ``data``."""

    @click.option("--config", "config", type=click.Path(path_type=Path), help="Configuration file.")
    @click.option("--data", type=click.Path(path_type=Path), help="Data directory (default: the configured one).")
    @functools.wraps(function)
    def wrapped(*args: Any, config: Path | None, data: Path | None, **kwargs: Any) -> Any:
        settings = read_settings(config)
        return function(*args, settings=settings, data=data or Path(settings.hub.data), **kwargs)

    return wrapped


def asking(function: Command) -> Command:
    """Adds --config, --data and --hub for commands that read; they get ``settings`` and ``source``."""

    @click.option("--config", "config", type=click.Path(path_type=Path), help="Configuration file.")
    @click.option("--data", type=click.Path(path_type=Path), help="Data directory (default: the configured one).")
    @click.option("--hub", help="Ask the hub at this address (default: site.url or collector.hub, where no data is).")
    @functools.wraps(function)
    def wrapped(*args: Any, config: Path | None, data: Path | None, hub: str | None, **kwargs: Any) -> Any:
        if data is not None and hub is not None:
            raise Refused("--data and --hub name two places to ask; leave one of them out.", exit_code=USAGE)
        settings = read_settings(config)
        if hub is None and data is None:
            source = Source(data=Path(settings.hub.data), hub=settings.site.url or settings.collector.hub)
        else:
            source = Source(data=data, hub=hub or "")
        return function(*args, settings=settings, source=source, **kwargs)

    return wrapped


def caller() -> str:
    """Returns the login name that ``--user me`` stands for."""
    return getpass.getuser()


def read_settings(config: Path | None) -> "Settings":
    """Returns the whole configuration, or ends the command with exit code 2 and the sentence."""
    from gpuledger.settings import load

    return _or_usage_error(lambda: load(config))


def read_node_settings(config: Path | None) -> NodeSettings:
    """Returns what a compute node reads, or ends the command with exit code 2 and the sentence."""
    return _or_usage_error(lambda: load_node(config))


def _or_usage_error(read: Callable[[], T]) -> T:
    try:
        return read()
    except ConfigError as error:
        raise Refused(str(error), exit_code=USAGE) from error


def filtered(function: Command) -> Command:
    """Adds --from --to --mine --user --account --partition --cluster; the command gets them as ``parameters``."""

    @click.option("--from", "start", help="First day or time, such as 2026-11-23 (site's zone).")
    @click.option("--to", "end", help="Day or time where the window ends.")
    @click.option("--mine", is_flag=True, help="Only mine; the same as --user me.")
    @click.option("--user", help="Only this user's; `me` is the caller.")
    @click.option("--account", help="Only this account's.")
    @click.option("--partition", help="Only this partition's.")
    @click.option("--cluster", help="Only this cluster's.")
    @functools.wraps(function)
    def wrapped(*args: Any, start: str | None, end: str | None, mine: bool, user: str | None, **kwargs: Any) -> Any:
        who = caller() if mine or user == "me" else user
        parameters = {
            "from": start,
            "to": end,
            "user": who,
            "account": kwargs.pop("account"),
            "partition": kwargs.pop("partition"),
            "cluster": kwargs.pop("cluster"),
        }
        return function(*args, parameters=parameters, **kwargs)

    return wrapped


def printed(function: Command) -> Command:
    """Adds --json and --csv; the command gets ``form``: json, csv or text."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    @functools.wraps(function)
    def wrapped(*args: Any, as_json: bool, as_csv: bool, **kwargs: Any) -> Any:
        if as_json and as_csv:
            raise Refused("--json and --csv are two forms of one answer; leave one of them out.", exit_code=USAGE)
        return function(*args, form="json" if as_json else "csv" if as_csv else "text", **kwargs)

    return wrapped


def limited(function: Command) -> Command:
    """Adds --limit; the command gets ``limit``, None where it was not given."""
    told = "Most rows to print; without it 50, and all of them as CSV."
    return click.option("--limit", type=WholeNumber(min=1), help=told)(function)
