"""What ends a command: one sentence and the next step on stderr, and the exit code."""

from typing import Final

FAILED: Final = 1
USAGE: Final = 2


class Refused(Exception):
    """A command that cannot do what was asked. The message is one sentence with the next step."""

    def __init__(self, sentence: str, *, exit_code: int = FAILED) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
