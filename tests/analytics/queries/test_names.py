"""Names that nobody bears: a sentence with those that are near."""

import pytest

from analytics.model import Filter, Viewer
from analytics.queries.names import unknown
from store.database import Cursor
from tests.factories.ledger import Ledger


@pytest.fixture
def named(ledger: Ledger, cur: Cursor) -> Cursor:
    ledger.gpu(ledger.node("n1"))
    ledger.run(user_name="ann", account="physics", partition="gpu")
    ledger.run(user_name="Bob", account="vision", partition=None)
    ledger.save(cur)
    return cur


@pytest.mark.parametrize(
    "where",
    [
        Filter(),
        Filter(user="ann", account="vision", partition="gpu", cluster="c1", node="n1", model="NVIDIA H100 80GB HBM3"),
        Filter(text="anything", state="running", finding="any"),
    ],
)
def test_what_is_known_is_not_told(named: Cursor, where: Filter) -> None:
    assert unknown(named, Viewer(), where) == []


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        (Filter(account="vission"), "No account vission is known here; did you mean vision?"),
        (Filter(user="BOB"), "No user BOB is known here; did you mean Bob?"),
        (Filter(partition="nope"), "No partition nope is known here; known are gpu."),
        (Filter(cluster="zz"), "No cluster zz is known here; known are c1."),
        (Filter(node="n2"), "No node n2 is known here; did you mean n1?"),
        (Filter(model="TPU"), "No model TPU is known here; known are NVIDIA H100 80GB HBM3."),
        (Filter(user="x\x1b" + "y" * 99), f"No user x{'y' * 39}... is known here; known are Bob, ann."),
    ],
)
def test_what_nobody_bears_is_told_with_what_is_near(named: Cursor, where: Filter, sentence: str) -> None:
    assert unknown(named, Viewer(), where) == [sentence]


def test_a_person_is_not_told_the_names_of_others(named: Cursor) -> None:
    assert unknown(named, Viewer("user", user="ann"), Filter(user="bo", account="visio")) == [
        "No user bo is known here; known are ann.",
        "No account visio is known here; known are physics.",
    ]


def test_of_many_the_first_are_told(ledger: Ledger, cur: Cursor) -> None:
    for number in range(12):
        ledger.run(user_name=f"person{number:02}")
    ledger.save(cur)
    (sentence,) = unknown(cur, Viewer(), Filter(user="zzz"))
    assert sentence.endswith("person08, person09 and 2 more.")


def test_in_an_empty_store_nothing_has_been_seen(ledger: Ledger, cur: Cursor) -> None:
    ledger.save(cur)
    assert unknown(cur, Viewer(), Filter(user="ann")) == ["No user ann is known here; none has been seen yet."]
