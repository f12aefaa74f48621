"""What kind of host this is."""

import os
import pwd
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# A configless slurmd keeps what it fetched in the second to last; the others are where packages put the file.
SLURM_CONFS: Final = (
    "/etc/slurm/slurm.conf",
    "/etc/slurm-llnl/slurm.conf",
    "/run/slurm/conf/slurm.conf",
    "/usr/local/etc/slurm.conf",
)
SBIN: Final = "/usr/sbin:/usr/local/sbin:/sbin:/opt/slurm/sbin"


def node_name(configured: str) -> str:
    """Returns the configured name, else the host's up to its first dot, as Slurm has it by default."""
    return configured or socket.gethostname().split(".")[0]


# Where packages keep slurmd's options. A configless slurmd is told there whom to ask; until it has, there is no file.
SLURMD_OPTIONS: Final = ("/etc/default/slurmd", "/etc/sysconfig/slurmd")


def has_slurm(setting: str, environ: Mapping[str, str] = os.environ, root: Path = Path("/")) -> bool:
    """Returns whether the host belongs to a Slurm cluster: as set, else whether :func:`slurm_sign` finds one."""
    return setting == "yes" if setting != "auto" else bool(slurm_sign(environ, root))


def slurm_sign(environ: Mapping[str, str] = os.environ, root: Path = Path("/")) -> str:
    """Returns what says that the host belongs to a Slurm cluster, in words; empty where nothing does.

    Slurm's programs alone say nothing: a workstation may have the packages and no cluster.
    """
    told = environ.get("SLURM_CONF", "")
    for path in (*([Path(told)] if told else []), *(root / name.lstrip("/") for name in SLURM_CONFS)):
        if path.is_file() and os.access(path, os.R_OK):
            return f"{path} is there"
    for path in (root / name.lstrip("/") for name in SLURMD_OPTIONS):
        if "--conf-server" in _read(path):
            return f"{path} names a server of configuration"
    if any(_read(comm).strip() == "slurmd" for comm in (root / "proc").glob("[0-9]*/comm")):
        return "slurmd runs"
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # it ended meanwhile, or is not for this user


def user_name(uid: int) -> str:
    """Returns the user's name, or the number as text where it has none (a container's user, LDAP that is down)."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
