"""Every example of docs/query.md is a query that is answered."""

import re
from pathlib import Path

import pytest

from store.asking import ask
from store.database import Database
from store.views import VIEWS

PAGE = (Path(__file__).parents[2] / "docs" / "query.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_answered(database: Database, example: str) -> None:
    assert ask(database, example, 10, 30).columns


def test_every_view_is_on_the_page() -> None:
    assert EXAMPLES
    assert [name for name in VIEWS if f"`{name}`" not in PAGE] == []
