"""One set of tokens for both colour schemes; CSS, Mantine, Plotly and AG Grid all take their colours from here."""

import dataclasses
from typing import Any, Final, Literal

from analytics.wording import NEUTRAL_EMPTY, PATTERN_INK, STATES

Scheme = Literal["light", "dark"]

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
MONOSPACE: Final = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tokens:
    """Colours of one scheme. ``text`` and ``muted`` reach 4.5:1 on every surface, ``edge`` 3:1 (tests/dashboard)."""

    page: str
    surface: str
    raised: str
    sunken: str
    line: str
    edge: str
    text: str
    muted: str
    accent: str
    accent_soft: str
    on_accent: str
    amber: str
    amber_soft: str
    series: tuple[str, ...]


LIGHT: Final = Tokens(
    page="#F6F7F9",
    surface="#FFFFFF",
    raised="#FFFFFF",
    sunken="#EFF1F4",
    line="#E2E6EB",
    edge="#868E99",
    text="#182028",
    muted="#565F6B",
    accent="#0B6A66",
    accent_soft="#E0F0EE",
    on_accent="#FFFFFF",
    amber="#8A5800",
    amber_soft="#FDF3DC",
    series=("#0B6A66", "#6D5BB5", "#A0522D", "#3F6B2A", "#9B3D73", "#4A6FA5"),
)
DARK: Final = Tokens(
    page="#101318",
    surface="#181C22",
    raised="#20252D",
    sunken="#0C0F13",
    line="#2A3039",
    edge="#737C89",
    text="#E9ECF0",
    muted="#A7B0BC",
    accent="#63CBC2",
    accent_soft="#153331",
    on_accent="#06211F",
    amber="#F0B849",
    amber_soft="#33270F",
    series=("#63CBC2", "#A99BEA", "#E09A73", "#9CC97F", "#E08DB8", "#8FB3E6"),
)
SCHEMES: Final[dict[Scheme, Tokens]] = {"light": LIGHT, "dark": DARK}

# Mantine asks for ten shades a colour; ours run from the soft to the strong accent of the light scheme.
_TEAL: Final = (
    "#E0F0EE", "#C3E3E0", "#9AD3CE", "#63CBC2", "#3FB1A8", "#26968E", "#157F79", "#0B6A66", "#085652", "#05403D",
)  # fmt: skip


# Mantine draws its dark inputs, menus and calendars from this ramp: text first, then surfaces from high to low.
_DARK_RAMP: Final = (
    DARK.text, "#C3CAD3", DARK.muted, DARK.edge, DARK.line, "#262C35", DARK.raised, DARK.surface, DARK.page,
    DARK.sunken,
)  # fmt: skip

FAINT: Final = 0.45
"""Opacity of unallocated: what nobody held stays in the background of a chart."""


def state_colour(state: str, scheme: Scheme) -> str:
    """Returns the fill of a GPU state, ``#RRGGBB`` or ``#RRGGBBAA``."""
    look = STATES[state]
    return look.light if scheme == "light" else look.dark


def css_variables() -> str:
    """Returns the tokens of both schemes as CSS custom properties on the root element."""
    return "\n".join(
        f':root[data-mantine-color-scheme="{scheme}"]{{{_variables(scheme, tokens)}}}'
        for scheme, tokens in SCHEMES.items()
    )


def _variables(scheme: Scheme, tokens: Tokens) -> str:
    colours = {
        field.name.replace("_", "-"): getattr(tokens, field.name)
        for field in dataclasses.fields(tokens)
        if field.name != "series"
    }
    colours |= {f"state-{state.replace('_', '-')}": state_colour(state, scheme) for state in STATES}
    colours["faint"] = f"{100 * FAINT:.0f}%"
    colours["neutral-empty"] = NEUTRAL_EMPTY.light if scheme == "light" else NEUTRAL_EMPTY.dark
    colours["pattern-ink"] = PATTERN_INK[0 if scheme == "light" else 1]
    variables = "".join(f"--{name}:{value};" for name, value in colours.items())
    # Mantine's own surfaces follow ours, so that menus, inputs and dates do not look like another product.
    mantine = {
        "body": "surface",
        "text": "text",
        "dimmed": "muted",
        "default": "raised",
        "default-hover": "sunken",
        "default-border": "line",
        "placeholder": "muted",
        "anchor": "accent",
    }
    return (
        f"color-scheme:{scheme};"
        + variables
        + "".join(f"--mantine-color-{name}:var(--{token})!important;" for name, token in mantine.items())
    )


def mantine_theme() -> dict[str, Any]:
    """Returns the theme object of MantineProvider."""
    return {
        "fontFamily": FONT,
        "fontFamilyMonospace": MONOSPACE,
        "primaryColor": "ledger",
        "primaryShade": {"light": 7, "dark": 3},
        "colors": {"ledger": list(_TEAL), "dark": list(_DARK_RAMP)},
        "autoContrast": True,
        "defaultRadius": "md",
        "focusRing": "auto",
        "respectReducedMotion": True,
        "cursorType": "pointer",
    }


def plotly_template(scheme: Scheme) -> dict[str, Any]:
    """Returns the Plotly template of a scheme; backgrounds are clear, the card shows through."""
    tokens = SCHEMES[scheme]
    axis = {
        "gridcolor": tokens.line,
        "linecolor": tokens.line,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "tickfont": {"color": tokens.muted, "size": 12},
        "title": {"font": {"color": tokens.muted, "size": 12}, "standoff": 8},
    }
    return {
        "layout": {
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "size": 12, "color": tokens.text},
            "colorway": list(tokens.series),
            "xaxis": axis | {"showgrid": False, "showline": True},
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": tokens.raised,
                "bordercolor": tokens.line,
                "font": {"family": FONT, "size": 12, "color": tokens.text},
                "namelength": -1,
            },
            "modebar": {"bgcolor": tokens.surface, "color": tokens.edge, "activecolor": tokens.accent},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "showlegend": False,
        }
    }


GRID_THEME: Final = {
    "function": "themeQuartz.withParams({"
    "backgroundColor: 'var(--surface)', foregroundColor: 'var(--text)', textColor: 'var(--text)',"
    "headerBackgroundColor: 'var(--surface)', headerTextColor: 'var(--muted)', borderColor: 'var(--line)',"
    "rowHoverColor: 'var(--sunken)', oddRowBackgroundColor: 'var(--surface)', accentColor: 'var(--accent)',"
    "chromeBackgroundColor: 'var(--surface)', menuBackgroundColor: 'var(--raised)', wrapperBorder: false,"
    "fontFamily: 'inherit', fontSize: 14, headerFontSize: 13, headerFontWeight: 600, rowHeight: 44,"
    "headerHeight: 40, cellHorizontalPadding: 12, browserColorScheme: 'inherit'})"
}
"""Theme of every AG Grid: the package turns the expression into AG Grid's theme object without eval."""
