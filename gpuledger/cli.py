"""The one console script. Each sub-command lives in gpuledger/commands/<name>.py and is imported when it is called."""

import importlib
import pkgutil
import sys
from typing import NoReturn

import click

import gpuledger
import gpuledger.commands
from gpuledger.errors import FAILED, USAGE, Refused
from gpuledger.invoked import callable_here


class LazyGroup(click.Group):
    """A group whose sub-commands are the modules of gpuledger.commands: one file a command, no list to edit."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Returns the names of all sub-commands, sorted."""
        return sorted(module.name for module in pkgutil.iter_modules(gpuledger.commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports and returns one sub-command, or None where there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"gpuledger.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands; `--help` is the one call that imports them all."""
        rows = [
            (name, command.get_short_help_str(80))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name))
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gpuledger.__version__, prog_name="gpuledger")
def group() -> None:
    """Accounts for every allocated GPU-hour of a Slurm cluster: who held it, what it did, what to ask for next."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs a command and exits 0 (done), 1 (failed or refused) or 2 (wrong usage or configuration)."""
    given = sys.argv[1:] if arguments is None else [str(argument) for argument in arguments]
    try:
        # Without its own error output click returns the code of a command that asked for one.
        ended = group.main(args=arguments, prog_name="gpuledger", standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(USAGE)
    except click.ClickException as error:
        _refuse(_sentence(error), given)
        sys.exit(USAGE)
    except click.Abort:
        sys.exit(FAILED)
    except Refused as error:
        _refuse(str(error), given)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        if _is_ours(error.name):
            raise
        _refuse(_lacking(error.name), given)
        sys.exit(FAILED)


def _refuse(sentence: str, arguments: list[str]) -> None:
    click.echo(f"gpuledger: {callable_here(sentence, arguments)}", err=True)


def _is_ours(module: str | None) -> bool:
    return module is None or module.partition(".")[0] in {"analytics", "collector", "dashboard", "gpuledger", "store"}


def _lacking(module: str | None) -> str:
    wheel = f"gpuledger-{gpuledger.__version__}-py3-none-any.whl"
    return (
        f"This is a node's installation, which lacks {module}: for the hub's commands run `pip install '{wheel}[hub]'` "
        "with the file that this was installed from; a running hub can be asked from here with --hub URL."
    )


def _sentence(error: click.ClickException) -> str:
    said = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = f"see `{context.command_path if context else 'gpuledger'} --help`."
    return f"{said} {where.capitalize()}" if said.endswith("?") else f"{said}; {where}"
