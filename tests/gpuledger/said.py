"""Commands in this process: exit code and what they say."""

import contextlib
import io
from typing import NamedTuple

import pytest

from gpuledger.cli import main


class Said(NamedTuple):
    """What a command ended with."""

    code: object
    out: str
    err: str


def said(*arguments: object) -> Said:
    """Runs a command to its end."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return Said(ended.value.code, out.getvalue(), err.getvalue())


def refused(*arguments: object, code: int = 1) -> str:
    """Returns the one sentence of a command that refuses; fails where it does not, or says more."""
    found = said(*arguments)
    assert (found.code, found.out, found.err.count("\n")) == (code, "", 1), found
    return found.err.strip().removeprefix("gpuledger: ")
