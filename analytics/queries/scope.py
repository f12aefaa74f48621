"""What a viewer may see and a filter asks for, as SQL conditions with named parameters.

The one place where Viewer and Filter become SQL. Values only ever travel as parameters; text that is put into a
statement comes from the constants of this package.
"""

from collections.abc import Mapping

import msgspec

from analytics.model import Filter, Viewer

Params = dict[str, object]


class Condition(msgspec.Struct, frozen=True):
    """SQL that is true for the rows wanted, and its named parameters, exactly those that the text names."""

    sql: str
    params: Params

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"{self.sql} AND {other.sql}", self.params | other.params)


ALWAYS = Condition("TRUE", {})


def fill(statement: str, **fragments: str) -> str:
    """Returns the statement with each ``{name}`` replaced by a fragment of SQL: constants and conditions, never values.

    Fragments are put in one after the other, so a fragment may itself hold the name of a later one.
    """
    for name, fragment in fragments.items():
        statement = statement.replace("{" + name + "}", fragment)
    return statement


def visible(viewer: Viewer) -> Condition:
    """Returns the condition on a run ``r`` for what the viewer may see: a person sees own runs, an account its runs."""
    if viewer.kind == "admin":
        return ALWAYS
    own = Condition("r.user_name = $viewer_user", {"viewer_user": viewer.user})
    if viewer.kind == "user":
        return own
    return Condition(
        "(r.user_name = $viewer_user OR list_contains($viewer_accounts, r.account))",
        {"viewer_user": viewer.user, "viewer_accounts": list(viewer.accounts)},
    )


def is_whole(viewer: Viewer, where: Filter) -> bool:
    """Returns whether hours without a run may be counted: capacity belongs to no user, account or partition."""
    place = Filter(cluster=where.cluster, model=where.model, node=where.node)
    return viewer.kind == "admin" and where == place


def escaped(text: str) -> str:
    r"""Returns ``text`` for a pattern of ``LIKE ... ESCAPE '\'``, where it stands for itself."""
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return text


def like(text: str) -> str:
    """Returns a LIKE pattern that finds ``text`` anywhere."""
    return f"%{escaped(text)}%"


_EQUAL: Mapping[str, str] = {
    "cluster": "r.cluster = $cluster",
    "user": "r.user_name = $user",
    "account": "r.account = $account",
    "partition": 'r."partition" = $partition',
}

# Slurm prints a cancelled job's state as CANCELLED by UID.
_SLURM_STATE = "(upper(r.state) = upper($state) OR starts_with(upper(r.state), upper($state) || ' '))"
_TEXT = """(r.job_id LIKE $text ESCAPE '\\' OR r.job_id_raw LIKE $text ESCAPE '\\' OR r.name ILIKE $text ESCAPE '\\')"""

_FAMILY = "r.run_key IN (SELECT run_key FROM footprint_run WHERE family = $family)"


def of_runs(where: Filter) -> Condition:
    """Returns the condition on a run ``r``: everything in the filter but place and size."""
    condition = ALWAYS
    for name, sql in _EQUAL.items():
        value = getattr(where, name)
        if value is not None:
            condition &= Condition(sql, {name: value})
    if where.state in ("running", "finished"):
        condition &= Condition("r.end_ms IS NULL" if where.state == "running" else "r.end_ms IS NOT NULL", {})
    elif where.state:
        condition &= Condition(_SLURM_STATE, {"state": where.state})
    if where.finding == "any":
        condition &= Condition("r.run_key IN (SELECT run_key FROM finding WHERE closed_ms IS NULL)", {})
    elif where.finding:
        sql = "r.run_key IN (SELECT run_key FROM finding WHERE rule = $finding AND closed_ms IS NULL)"
        condition &= Condition(sql, {"finding": where.finding})
    if where.text:
        condition &= Condition(_TEXT, {"text": like(where.text)})
    if where.family is not None:
        condition &= Condition(_FAMILY, {"family": where.family})
    return condition


def of_places(where: Filter) -> Condition:
    """Returns the condition on a GPU ``g`` and its node ``n``."""
    condition = ALWAYS
    if where.model is not None:
        condition &= Condition("g.model = $model", {"model": where.model})
    if where.node is not None:
        condition &= Condition("n.name = $node", {"node": where.node})
    return condition


_ON_PLACES = """r.run_key IN (
    SELECT a.run_key FROM allocation a JOIN gpu g ON g.gpu_key = a.gpu_key JOIN node n ON n.node_key = a.node_key
    WHERE {places})"""


def of_runs_on_places(where: Filter) -> Condition:
    """Returns :func:`of_runs`, and that the run holds a GPU of the model on the node: for what is known by run only."""
    places = of_places(where)
    if places is ALWAYS:
        return of_runs(where)
    return of_runs(where) & Condition(fill(_ON_PLACES, places=places.sql), places.params)
