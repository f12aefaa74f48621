"""Mount, UTS and PID namespaces: made for a node, and entered to run a command beside its slurmd."""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWPID = 0x00020000, 0x04000000, 0x20000000
_PR_SET_PDEATHSIG = 1
MS_NOSUID, MS_BIND, MS_MOVE, _MS_REC, _MS_PRIVATE = 2, 4096, 8192, 16384, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def unshare() -> None:
    """Put this process in new mount and UTS namespaces, and its next children in a new PID namespace."""
    if _libc.unshare(_CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWPID):
        raise _failure("unshare")


def make_private() -> None:
    """Keep every later mount of this namespace from showing in the machine's."""
    mount(None, "/", flags=_MS_REC | _MS_PRIVATE)


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    """Call mount(2); raise OSError that names both ends."""
    if _libc.mount(_bytes(source), _bytes(target), _bytes(kind), ctypes.c_ulong(flags), _bytes(options)):
        raise _failure(f"mount {source} on {target}")


def run_inside(pid: int, argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command as root in the namespaces of a process, and return its exit status.

    SIGTERM and SIGHUP are passed on, so that whoever started this program stops the command and not just its
    doorman; the command is killed when this program is.
    """
    root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY)
    # All opened before any is entered: the node's own /proc does not know this pid.
    handles = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("mnt", "uts", "pid")]
    for handle in handles:
        if _libc.setns(handle, 0):
            raise _failure("setns")
        os.close(handle)
    os.fchdir(root)
    os.chroot(".")
    os.chdir("/")
    os.close(root)
    passed_on = (signal.SIGTERM, signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
    child = os.fork()  # only a child is in the PID namespace
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
        _become(argv, environment)
    for number in passed_on:
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the command as well
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def _become(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.execvpe(argv[0], list(argv), dict(environment))
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr, flush=True)
    os._exit(127)


def _bytes(text: str | None) -> bytes | None:
    return os.fsencode(text) if text is not None else None


def _failure(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
