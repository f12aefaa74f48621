"""What kind of host this is."""

import os
import pwd
import shutil
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


def has_slurm(setting: str, environ: Mapping[str, str] = os.environ, root: Path = Path("/")) -> bool:
    """Returns whether the host belongs to a Slurm cluster: as set, else whether slurm.conf or slurmd is found."""
    if setting != "auto":
        return setting == "yes"
    if (configured := environ.get("SLURM_CONF")) and Path(configured).is_file():
        return True
    if any((root / path.lstrip("/")).is_file() for path in SLURM_CONFS):
        return True
    folders = [str(root / folder.lstrip("/")) for folder in SBIN.split(":")]
    return shutil.which("slurmd", path=os.pathsep.join(folders)) is not None


def user_name(uid: int) -> str:
    """Returns the user's name, or the number as text where it has none (a container's user, LDAP that is down)."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
