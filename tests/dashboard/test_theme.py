"""Tokens: contrast of texts and edges, states told apart without colour, no colour outside theme.py."""

import re
from pathlib import Path

import pytest

from analytics.wording import STATES
from dashboard import theme
from dashboard.app import ASSETS


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_reaches_aa(scheme: theme.Scheme) -> None:
    tokens = theme.SCHEMES[scheme]
    for ground in (tokens.page, tokens.surface, tokens.raised, tokens.sunken):
        for ink in (tokens.text, tokens.muted, tokens.accent):
            assert contrast(ink, ground) >= 4.5, (ink, ground)
        assert contrast(tokens.edge, ground) >= 2.9, (tokens.edge, ground)
    assert contrast(tokens.text, tokens.accent_soft) >= 4.5
    assert contrast(tokens.accent, tokens.accent_soft) >= 4.5
    assert contrast(tokens.amber, tokens.amber_soft) >= 4.5
    assert contrast(tokens.amber, tokens.page) >= 4.5
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_stand_out_from_their_ground(scheme: theme.Scheme) -> None:
    tokens = theme.SCHEMES[scheme]
    for state in ("active", "low", "idle"):
        assert contrast(theme.state_colour(state, scheme), tokens.surface) >= 2.9
    for colour in tokens.series:
        assert contrast(colour, tokens.surface) >= 3.0


def test_every_state_has_its_css_variable() -> None:
    css = theme.css_variables()
    for state, look in STATES.items():
        assert css.count(f"--state-{state.replace('_', '-')}:") == 2
        assert look.light in css
        assert look.dark in css


def test_states_of_one_colour_differ_in_pattern() -> None:
    seen = {(look.light, look.pattern) for look in STATES.values()}
    assert len(seen) == len(STATES)


def test_style_sheets_name_no_colour_and_nothing_outside() -> None:
    for file in ASSETS.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", text), file.name
        assert "http" not in text
        assert "@import" not in text


def test_assets_load_nothing_from_outside() -> None:
    for file in [*ASSETS.rglob("*.js"), *ASSETS.rglob("*.svg")]:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://", text), file.name
        assert "eval(" not in text


def test_every_icon_is_drawn() -> None:
    used = set(
        re.findall(
            r"icon\(\"([a-z]+)\"\)|icon=\"([a-z]+)\"", "".join(p.read_text() for p in Path(ASSETS).parent.rglob("*.py"))
        )
    )
    for name in {one or other for one, other in used}:
        assert (ASSETS / "icons" / f"{name}.svg").exists(), name
