"""A kill at each step of the inbox: what was acknowledged is found again, whole and in order."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from store.inbox import Inbox

# Appends numbered records, prints each number once it is acknowledged, and takes the first ones as stored.
CHILD = """
import os, signal, sys
from pathlib import Path
from store.inbox import Inbox

seen = 0

def step(name):
    global seen
    seen += name == sys.argv[2]
    if name == sys.argv[2] and seen == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

inbox = Inbox(Path(sys.argv[1]), min_free_bytes=0, step=step)
for number in range(8):
    inbox.append(bytes([number]) * 5000, str(number))
    print(number, flush=True)
    if number == 3:
        inbox.done(inbox.take())
"""
STORED = {"0", "1", "2", "3"}


@pytest.mark.parametrize("nth", [1, 3, 7])
@pytest.mark.parametrize("step", ["before the write", "before the sync", "after the sync"])
def test_what_was_acknowledged_is_found_again(tmp_path: Path, step: str, nth: int) -> None:
    acknowledged = killed_at(tmp_path, step, nth)
    assert acknowledged == {str(number) for number in range(nth - 1)}
    found = names(tmp_path)
    assert acknowledged - (STORED if nth > 4 else set()) <= set(found)
    # The one that was not acknowledged may be there: whoever sent it sends it again, and it is stored once.
    assert found == sorted(set(found))
    assert set(found) <= acknowledged | {str(nth - 1)}


def test_a_file_that_should_be_gone_is_read_again(tmp_path: Path) -> None:
    assert killed_at(tmp_path, "before the file goes", 1) == STORED
    assert set(names(tmp_path)) == STORED


def killed_at(directory: Path, step: str, nth: int) -> set[str]:
    command = [sys.executable, "-c", CHILD, str(directory), step, str(nth)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, "")
    return set(ended.stdout.split())


def names(directory: Path) -> list[str]:
    inbox = Inbox(directory, min_free_bytes=0)
    entries = inbox.take().entries
    inbox.close()
    assert all(data == bytes([int(name)]) * 5000 for name, data in entries)
    return [name for name, _ in entries]
