"""The people: invented users and the accounts that they compute for."""

from typing import Final

import msgspec


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A user with one account."""

    name: str
    uid: int
    account: str


_ACCOUNTS: Final = {
    "langmodels": ("hlindqvist", "pokafor", "smoreau", "jtakeda", "kbauer"),
    "vision": ("pdasgupta", "mferrari", "ltran", "awojcik"),
    "climate": ("nweber", "ehalvorsen", "rcastillo", "tmbeki"),
    "biophysics": ("ifarouk", "gjohansen", "ychoi", "dnovak"),
    "robotics": ("aosei", "vpetrov", "sbianchi"),
    "speech": ("mnakagawa", "clefevre", "ohaddad"),
    "teaching": ("bkowalski", "fschmid", "zyilmaz", "rnguyen", "tsantos"),
}

PEOPLE: Final[dict[str, Person]] = {
    name: Person(name=name, uid=20_100 + number, account=account)
    for number, (account, name) in enumerate((account, name) for account, names in _ACCOUNTS.items() for name in names)
}
