"""Writes docs/commands.md from the commands themselves."""

import inspect
from collections.abc import Iterator

import click

from gpuledger.cli import group

HEAD = """\
# Commands

As `gpuledger COMMAND --help` says it. Every error is one sentence with the next step; a command ends with 0 when it is
done, 1 when it failed or refused rows, 2 on wrong usage or configuration.
"""


def commands() -> str:
    """Return the page: a section for each command."""
    return HEAD + "".join(section(group, click.Context(group, info_name="gpuledger")))


def section(parent: click.Group, context: click.Context) -> Iterator[str]:
    """Yield the sections of the commands of a group, those of groups within it after them."""
    for name in parent.list_commands(context):
        command = parent.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        usage = " ".join([inner.command_path, *command.collect_usage_pieces(inner)])
        yield f"\n## {inner.command_path}\n\n{inspect.cleandoc(command.help or '')}\n\n    {usage}\n\n"
        for parameter in command.params:
            names, text = parameter.get_help_record(inner) or ("", "")
            if text:
                yield f"- `{names}`: {text}\n"
        if isinstance(command, click.Group):
            yield from section(command, inner)
