"""Parser of `sacctmgr --noheader --parsable2 show associations format=Cluster,Account,ParentName,User`.

An account's own line has no user, and the account above it; users' lines say who may use it and are passed over.
"""

from typing import Final

from store.formats.scontrol import Parsed, Refusal
from store.segment import AccountSeen

FIELDS: Final = ("Cluster", "Account", "ParentName", "User")
_LETTERS: Final = 1024


def parse_accounts(data: bytes) -> Parsed[AccountSeen]:
    """Returns the accounts with the ones above them; the top of the tree is called root."""
    found: dict[tuple[str, str], AccountSeen] = {}
    refusals: list[Refusal] = []
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        fields = [field.strip() for field in line.split("|")]
        if not any(fields):
            continue
        if len(fields) != len(FIELDS) or not fields[0] or not fields[1] or len(line) > _LETTERS:
            refusals.append(Refusal(number, f"{line[:40]!r} has not the {len(FIELDS)} fields of an association"))
            continue
        cluster, name, parent, user = fields
        if not user:
            found.setdefault((cluster, name), AccountSeen(cluster=cluster, name=name, parent=parent or None))
    return Parsed(tuple(found.values()), tuple(refusals))
