"""Every metric, rule, page and command is in docs/, as the code describes it."""

import pytest

from docs.reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_page_says_what_the_code_says(name: str) -> None:
    """On a failure: `make docs`, and commit the page with the change."""
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name]()
