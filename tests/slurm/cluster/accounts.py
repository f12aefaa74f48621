"""Unix users made for clusters, and the accounts and associations of one cluster in slurmdbd.

Clusters on one machine may use the same user names: each notes its use, and the last one to go removes a
user that a cluster made. A user that was there before is left as it is.
"""

import hashlib
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.slurm.cluster import ClusterError, report
from tests.slurm.cluster.processes import attempt, run
from tests.slurm.cluster.state import MACHINE_FOLDER, Cluster, make_folder

_COMMENT = "made by a Slurm test cluster"
Association = tuple[str, str]


def parse(text: str) -> list[Association]:
    """Parse `account:user,account:user`; a user's first account is the default one."""
    pairs = [tuple(part.split(":")) for part in text.split(",") if part]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise ClusterError(f"--assoc {text}: write account:user pairs with commas between them.")
    return [(pair[0], pair[1]) for pair in pairs]


def make_users(cluster: Cluster, associations: Sequence[Association]) -> None:
    """Make the Unix users that are missing, a home for each, and note that this cluster uses them.

    The caller holds the machine's lock.
    """
    for user in sorted({user for _, user in associations}):
        if not _exists(user):
            options = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/bash", "--comment", _COMMENT]
            run(["useradd", *options, user], cluster.environment)
            report(f"made the Unix user {user}")
        make_folder(cluster / f"home/{user}", owner=user)
        use = _use(cluster, user)
        make_folder(use.parent)
        use.write_text(str(cluster.folder))


def remove_users(cluster: Cluster) -> None:
    """Drop this cluster's use of its users, and remove those that clusters made and none uses any more."""
    for user in sorted(home.name for home in (cluster / "home").glob("*")):
        _use(cluster, user).unlink(missing_ok=True)
        if _exists(user) and pwd.getpwnam(user).pw_gecos == _COMMENT and not _users_of(user):
            run(["userdel", user], cluster.environment)
            report(f"removed the Unix user {user}")
        _discard_empty(_use(cluster, user).parent)


def make_associations(cluster: Cluster, associations: Sequence[Association]) -> None:
    """Make accounts, associations and a second QOS in slurmdbd, in one call: each costs half a second on 22.05."""
    wanted = {f"{account}|{user}" for account, user in associations}
    if wanted <= _associations(cluster):
        return
    accounts = dict.fromkeys(account for account, _ in associations)
    lines = [f"add cluster {cluster.shape.name}", "add qos high Priority=100", f"add account {','.join(accounts)}"]
    for user in dict.fromkeys(user for _, user in associations):
        mine = [account for account, other in associations if other == user]
        lines.append(f"add user {user} Account={','.join(mine)} DefaultAccount={mine[0]} qos=normal,high")
    done = subprocess.run(
        ["sacctmgr", "-i"],
        input="\n".join([*lines, "quit", ""]),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=cluster.environment,
        timeout=60,
        check=False,
    )
    if not wanted <= _associations(cluster):
        raise ClusterError(f"The accounts could not be made:\n{done.stdout}")
    report("accounts and associations made")


def _associations(cluster: Cluster) -> set[str]:
    query = ["sacctmgr", "-n", "-P", "show", "assoc", "format=account,user"]
    return set(attempt(query, cluster.environment, 20)[1].split())


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _use(cluster: Cluster, user: str) -> Path:
    name = hashlib.sha256(str(cluster.folder).encode()).hexdigest()[:16]
    return MACHINE_FOLDER / "users" / user / name


def _users_of(user: str) -> list[Path]:
    """Return the notes of clusters that use this user and still exist."""
    notes = list((MACHINE_FOLDER / "users" / user).glob("*"))
    return [note for note in notes if Path(note.read_text()).exists()]


def _discard_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
