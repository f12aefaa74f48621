"""Charts: nothing leaves the site, Plotly accepts them, they stay small, and everybody can read what they show."""

from collections.abc import Callable

import plotly.graph_objects as go
import pytest

from analytics.queries.lanes import Lane, Stretch
from analytics.queries.series import GpuSeries, Series
from analytics.queries.timeline import Timeline, TimelineRow
from dashboard import figures, multiples
from dashboard.components.chart import CONFIG, graph
from dashboard.theme import LIGHT, Scheme
from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.footprints import footprint_gpu
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

ZONE = "Europe/Helsinki"


def timeline(count: int = 5) -> Timeline:
    rows = [
        TimelineRow(
            start_ms=T0 + i * HOUR,
            end_ms=T0 + (i + 1) * HOUR,
            active_gpu_h=1.0,
            low_gpu_h=0.5,
            idle_held_gpu_h=0.25,
            idle_empty_gpu_h=0.25,
            unknown_gpu_h=1.0,
            stray_gpu_h=0.0,
            unallocated_gpu_h=1.0,
            capacity_gpu_h=4.0,
        )
        for i in range(count)
    ]
    return Timeline(bucket_ms=HOUR, rows=rows)


def series(gpus: int, points: int = 600) -> Series:
    return Series(
        resolution_ms=MINUTE,
        from_raw=True,
        gpus=[
            GpuSeries(
                gpu_key=i,
                gpu=f"n1:{i}",
                node="n1",
                at_ms=[T0 + j * MINUTE for j in range(points)],
                values={"util_pct": [float(i)] * (points - 1) + [None], "power_w": [None] * points},
            )
            for i in range(gpus)
        ],
    )


def lane(name: str = "n1:0") -> Lane:
    return Lane(gpu_key=1, gpu=name, node="n1", stretches=[Stretch(state="idle", start_ms=T0, end_ms=T0 + HOUR)])


def test_share_chart_is_off_three_times() -> None:
    assert CONFIG["showSendToCloud"] is False
    assert CONFIG["plotlyServerURL"] == ""
    buttons = [button for group in CONFIG["modeBarButtons"] for button in group]
    assert not {"sendDataToCloud", "sendChartToCloud", "editInChartStudio"} & set(buttons)
    assert CONFIG["displaylogo"] is False


def test_every_chart_goes_through_the_wrapper(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    seen = 0
    for address in ("/", "/me", "/jobs/102"):
        for chart in pages.get(address).charts().values():
            assert chart["config"] == CONFIG
            seen += 1
    assert seen >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plotly_accepts_the_figures(scheme: str) -> None:
    drawn = [
        figures.state_bars(timeline(), ZONE, scheme, "r"),  # type: ignore[arg-type]
        figures.lanes_figure([lane()], (T0, T0 + HOUR), [], ZONE, scheme, "r"),  # type: ignore[arg-type]
        multiples.metrics_figure(series(2), (T0, T0 + HOUR), {}, ZONE, scheme, "r"),  # type: ignore[arg-type]
        multiples.metrics_figure(series(40), (T0, T0 + HOUR), {}, ZONE, scheme, "r"),  # type: ignore[arg-type]
    ]
    for figure in drawn:
        go.Figure(figure)  # raises ValueError for anything that Plotly does not know
        for trace in figure["data"]:
            assert trace["type"] in ("bar", "scatter")  # no WebGL: it needs unsafe-eval
            assert len(trace.get("y", trace.get("x", []))) <= 1000


def test_zoom_survives_a_refresh_while_the_view_is_the_same() -> None:
    one, two = (figures.state_bars(timeline(n), ZONE, "light", "/?range=7d") for n in (5, 6))
    assert one["layout"]["uirevision"] == two["layout"]["uirevision"]


def test_touch_scrolls_the_page() -> None:
    assert figures.state_bars(timeline(), ZONE, "light", "r", coarse=True)["layout"]["dragmode"] is False


def test_names_from_outside_are_plain_text() -> None:
    assert figures.plain("<b>x</b>\n\u202ey & z") == "&lt;b&gt;x&lt;/b&gt;  y &amp; z"
    assert len(figures.plain("n" * 500)) <= 32
    drawn = figures.lanes_figure([lane("<a href='x'>n</a>")], (T0, T0 + HOUR), [], ZONE, "light", "r")
    assert "<a" not in str(drawn["data"])


def test_idle_of_a_person_is_grey_and_never_red() -> None:
    drawn = figures.state_bars(timeline(), ZONE, "light", "r", neutral=True)
    idle = [trace for trace in drawn["data"] if trace["name"].startswith("idle")]
    assert len(idle) == 2
    assert "#C0392B" not in str(idle)


def test_above_16_gpus_lowest_median_and_band() -> None:
    drawn = multiples.metrics_figure(series(40), (T0, T0 + HOUR), {}, ZONE, "light", "r")
    names = [trace.get("name") for trace in drawn["data"]]
    assert [name for name in names if name and name.startswith("n1:")] == [f"n1:{i}" for i in range(8)]
    assert "the other 32 are not drawn" in multiples.what_is_drawn(40)
    middle = drawn["data"][-1]
    assert middle["y"][0] == 19.5
    assert middle["y"][-1] is None
    assert middle["customdata"][0] == "20 % (lowest 0 %, n1:0)"


def slowed(*bits: list[float | None]) -> Series:
    """GPUs at 1,500 MHz with these reasons, a bucket each."""
    gpus = [
        GpuSeries(
            gpu_key=i,
            gpu=f"n1:{i}",
            node="n1",
            at_ms=[T0 + j * MINUTE for j in range(len(each))],
            values={"sm_clock_mhz": [1500.0] * len(each), "event_reasons": each},
        )
        for i, each in enumerate(bits)
    ]
    return Series(resolution_ms=MINUTE, from_raw=True, gpus=gpus)


def bands(series: Series) -> dict[str, list[int | None]]:
    drawn = multiples.metrics_figure(series, (T0, T0 + HOUR), {}, ZONE, "light", "r")
    go.Figure(drawn)
    traces = [trace for trace in drawn["data"] if trace["type"] == "bar"]
    top = drawn["layout"]["yaxis"]["range"][1]
    edges = [
        edge for trace in reversed(traces) for edge in (trace["base"], trace["base"] + max(filter(None, trace["y"])))
    ]
    assert edges == sorted(edges)  # one above the other, over the line and within the scale
    assert not edges or 1500 < edges[0] < edges[-1] < top
    return {trace["name"]: trace["customdata"] for trace in traces}


def test_bands_say_what_held_the_clocks_down_and_on_how_many_gpus() -> None:
    first: list[float | None] = [0x20, 0x40 | 0x8, 0x80 | 0x8, 0x8, 0x4, 0x1 | 0x2 | 0x10 | 0x100, 0, None]
    second: list[float | None] = [0x20 | 0x4, 0, None, 0, 0x4, 0x1, 0, 0]
    nothing: list[float | None] = [0x1, 0x2, 0x10, 0x100, 0x200, 0x400, 0, None]
    assert bands(slowed(first, second, nothing)) == {
        "slowed by heat": [2, 1, None, None, None, None, None, None],
        "slowed by the power brake": [None, None, 1, None, None, None, None, None],
        "slowed by the hardware": [None, None, None, 1, None, None, None, None],
        "power cap reached": [1, None, None, None, 2, None, None, None],
    }
    assert bands(slowed(nothing)) == {}
    assert bands(series(2)) == {}


def test_the_power_cap_is_no_fault() -> None:
    colours = {
        trace["name"]: trace["marker"]["color"]
        for trace in multiples.metrics_figure(slowed([0x24]), (T0, T0 + HOUR), {}, ZONE, "light", "r")["data"]
        if trace["type"] == "bar"
    }
    assert colours == {"slowed by heat": LIGHT.text, "power cap reached": LIGHT.edge}


def test_a_job_says_in_words_what_slowed_it(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    gpu = ledger.gpu(ledger.node("n1"))
    for number, bits in enumerate((0x20, 0x4, 0x1)):
        run = ledger.run(str(201 + number))
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, active=60)
        ledger.rows(gpu, run, T0, T0 + HOUR, util_pct=900, sm_clock_mhz=1500, event_reasons=bits)
        times = {"heat_ms": 0, "power_brake_ms": 0, "hardware_ms": 0, "power_cap_ms": 0}
        footprint_gpu(ledger, run, gpu, **times | ({"heat_ms": 12 * MINUTE} if bits == 0x20 else {}))
    ledger.save(cur)
    hot, capped, cool = (pages.get(f"/jobs/{job}").text() for job in (201, 202, 203))
    assert "Bands above the SM clock: slowed by heat." in hot
    assert "heat 12 min" in hot
    assert "Bands above the SM clock: power cap reached (normal under load)." in capped
    assert "Bands" not in cool
    assert ["Slowed" in text for text in (hot, capped, cool)] == [True, False, False]


def test_equal_steps_unless_the_clock_changes() -> None:
    even = multiples.metrics_figure(series(1), (T0, T0 + HOUR), {}, ZONE, "light", "r")["data"][0]
    assert even["x0"] == "2026-11-23 02:00:00"
    assert even["dx"] == MINUTE
    change = 1_792_890_000_000  # Sun 25 Oct 2026, 01:00 UTC: Helsinki sets its clocks back
    moved = Series(
        resolution_ms=HOUR,
        from_raw=False,
        gpus=[
            GpuSeries(
                gpu_key=1,
                gpu="g",
                node="n",
                at_ms=[change + i * HOUR for i in range(-2, 3)],
                values={"util_pct": [1.0] * 5},
            )
        ],
    )
    x = multiples.metrics_figure(moved, (change, change + HOUR), {}, ZONE, "light", "r")["data"][0]["x"]
    assert [text[11:16] for text in x] == ["02:00", "03:00", "03:00", "04:00", "05:00"]


def test_chart_has_words_and_height() -> None:
    figure = figures.state_bars(timeline(), ZONE, "light", "r")
    shown = str(graph("g", figure, summary="Said in words."))
    assert "Said in words." in shown
    assert "'minHeight': '300px'" in shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_persons_own_page_every_state_looks_different(scheme: Scheme) -> None:
    looks = [
        (marker["color"], marker.get("pattern", {}).get("shape"))
        for marker in (figures.fill(state, scheme, neutral=True) for state in ("idle", "idle_held", "unknown"))
    ]
    assert len(set(looks)) == len({shape for _, shape in looks}) == 3


def test_what_nobody_held_is_split_where_slurm_tells_why(
    pages: Pages, small: Callable[..., Ledger], cur: Cursor
) -> None:
    def names() -> set[str]:
        return {trace["name"] for trace in pages.get("/").charts()["overview-timeline"]["figure"]["data"]}

    small()
    assert "unallocated" in names()
    ledger = Ledger()
    for hour in range(7 * 24):
        ledger.word("n8", T0 + hour * HOUR, gpus=2, standing="offline", gpus_used=0)
        ledger.word("n9", T0 + hour * HOUR, gpus=4, gpus_used=1, standing="reserved")
    ledger.save(cur)
    assert {"free", "offline", "reserved", "allocated, job not seen"} <= names()
    assert "unallocated" not in names()
    assert "504 reserved, 336 offline" in pages.get("/").text()


@pytest.mark.parametrize("highest", [0.0004, 0.4, 1.2, 700.0])
def test_no_two_ticks_of_an_axis_read_the_same(highest: float) -> None:
    values = {"pcie_rx_mib": [highest] * 3}
    gpu = GpuSeries(gpu_key=1, gpu="n1:0", node="n1", at_ms=[T0, T0 + MINUTE, T0 + 2 * MINUTE], values=values)
    told = Series(resolution_ms=MINUTE, from_raw=True, gpus=[gpu])
    figure = multiples.metrics_figure(told, (T0, T0 + 3 * MINUTE), {}, ZONE, "light", "r")
    axis = figure["layout"]["yaxis"]
    assert len(set(axis["ticktext"])) == len(axis["ticktext"]) == len(axis["tickvals"])
    assert axis["ticktext"][0] == "0"
