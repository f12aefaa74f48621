"""A state has one pattern, on screen and on paper."""

import re
from pathlib import Path

import pytest

from analytics import reports
from analytics.model import State
from analytics.wording import STATES

TEMPLATE = (Path(reports.__file__).parent / "templates/print.html.j2").read_text()
PATHS = {"/": "M0 5L5 0", "\\": "M0 0L5 5", "x": "M0 0L5 5M5 0L0 5", "-": "M0 2.5H5", "|": "M1 0V5M3.5 0V5",
         "+": "M2.5 0V5M0 2.5H5"}  # fmt: skip
IDS = {State.IDLE_HELD: "held"}


@pytest.mark.parametrize("state", [state for state, look in STATES.items() if look.pattern in PATHS])
def test_print_draws_a_state_as_the_pages_do(state: State) -> None:
    name = IDS.get(state, state.value)
    [drawn] = re.findall(rf'<pattern id="{name}".*?<path d="([^"]+)"', TEMPLATE)
    assert drawn == PATHS[STATES[state].pattern]
