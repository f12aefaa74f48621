import pytest

from collector.readings import Moment, Reason
from store.catalog import BY_NAME
from tests.collector.conftest import START_S, StandIn


def natural(row, metric):
    value = row.values[metric]
    assert not isinstance(value, Reason), value
    return value / BY_NAME[metric].per_unit


def test_the_first_reading_makes_no_row(node):
    assert node.read(0).rows == ()
    assert len(node.read(10).rows) == 1


def test_a_busy_gpu(node):
    node.read(0, "gpu.0.util_gpu=70\n")
    row = node.row(10, "gpu.0.util_gpu=70\ngpu.0.power_usage_mw=512300\ngpu.0.util_enc=5\ngpu.0.event_reasons=4\n")
    assert (row.device, row.ts_ms, row.span_ms) == (0, (START_S + 10) * 1000, 10_000)
    assert natural(row, "util_pct") == pytest.approx(70)
    assert (row.values["util_max_pct"], row.values["util_below1_ratio"], row.values["util_watched_ms"]) == (
        70,
        0,
        10_000,
    )
    assert row.values["util_readings"] == 100
    assert (natural(row, "power_w"), row.values["enc_pct"], row.values["event_reasons"]) == (512.3, 5, 4)
    assert (row.values["temp_c"], row.values["sm_clock_mhz"], row.values["mem_clock_mhz"]) == (33, 345, 2619)


def test_half_the_time_busy_is_half_whatever_the_moment_of_reading(node):
    wave = "gpu.0.util_gpu=square(0,100,4)\n"
    node.read(0, wave)
    row = node.row(12, wave)
    assert natural(row, "util_pct") == pytest.approx(50, abs=3)
    assert natural(row, "util_below1_ratio") == pytest.approx(0.5, abs=0.03)
    assert row.values["util_max_pct"] == 100


DRY = "count=8\ngpu.*.samples_n=0\n"


def gathered(node, seconds, scenario):
    """Beats once a second, as the daemon does; returns how many calls each beat cost."""
    costs = []
    for second in seconds:
        at = node.set(second, scenario)
        node.fake.reset()
        if node.gpu.wants_gathering(at):
            node.gpu.gather(at)
        costs.append(node.fake.calls())
    return costs


def test_an_idle_gpu_whose_buffer_is_dry_is_watched_once_a_second(node):
    node.read(0, DRY)
    assert gathered(node, range(1, 10), DRY) == [8] * 9  # one call a GPU and second
    assert node.fake.calls("nvmlDeviceGetUtilizationRates") == 8
    for row in node.read(10, DRY).rows:
        values = row.values
        assert (values["util_pct"], values["util_watched_ms"], values["util_below1_ratio"]) == (0, 10_000, 1000)
        assert values["util_readings"] == 10


def test_a_gpu_whose_buffer_fills_costs_no_call_between_rows(node):
    busy = "count=8\ngpu.*.util_gpu=80\n"
    node.read(0, busy)
    assert gathered(node, range(1, 10), busy) == [0] * 9
    node.read(10, DRY)
    assert gathered(node, range(11, 20), busy) == [8] * 9  # the buffer is not looked into before the next row
    assert {row.values["util_watched_ms"] for row in node.read(20, busy).rows} == {10_000}
    assert gathered(node, range(21, 30), busy) == [0] * 9


def test_without_gathering_an_idle_gpu_is_idle_but_unwatched(fake_nvml):
    node = StandIn(fake_nvml, gather_when_dry=False)
    node.read(0, DRY)
    assert gathered(node, range(1, 10), DRY) == [0] * 9
    values = node.read(10, DRY).rows[0].values
    assert (values["util_pct"], values["util_watched_ms"], values["util_below1_ratio"]) == (0, 0, 1000)
    node.inventory.close()


def test_a_second_that_no_reading_stands_for_takes_the_current_one_and_is_unwatched(node):
    dry = "gpu.0.samples_n=0\n"
    node.read(0, dry)
    gathered(node, [1, 2, 3, 7, 8, 9], dry)  # the daemon was held up for three seconds
    row = node.row(10, dry)
    assert (row.values["util_pct"], row.values["util_watched_ms"]) == (0, 7000)


def test_work_that_begins_while_the_buffer_is_dry_is_told_by_the_buffer(node):
    node.read(0, "gpu.0.samples_n=0\n")
    gathered(node, range(1, 7), "gpu.0.samples_n=0\n")
    gathered(node, range(7, 10), "gpu.0.util_gpu=100\ngpu.0.samples_n=40\n")
    row = node.row(10, "gpu.0.util_gpu=100\ngpu.0.samples_n=40\n")  # of second 6 to 10
    assert natural(row, "util_pct") == pytest.approx(40, abs=1)
    assert natural(row, "util_below1_ratio") == pytest.approx(0.6, abs=0.01)
    assert row.values["util_watched_ms"] == 10_000


def test_a_buffer_that_runs_dry_after_one_busy_second(node):
    node.read(0, "gpu.0.samples_n=0\n")
    gathered(node, [1], "gpu.0.util_gpu=100\n")
    gathered(node, range(2, 10), "gpu.0.samples_n=0\n")
    row = node.row(10, "gpu.0.samples_n=0\n")
    assert natural(row, "util_pct") == pytest.approx(10, abs=1)
    assert row.values["util_watched_ms"] == 10_000


def test_without_a_buffer_readings_are_taken_every_second(node):
    no_buffer = "gpu.*.return.nvmlDeviceGetSamples = NOT_SUPPORTED\ngpu.0.util_gpu="
    assert not node.gpu.wants_gathering(node.set(0, ""))
    node.read(0, no_buffer + "0\n")
    for second in range(1, 10):
        now = node.set(second, no_buffer + ("100\n" if second <= 3 else "0\n"))
        assert node.gpu.wants_gathering(now)
        node.gpu.gather(now)
    row = node.row(10, no_buffer + "0\n")
    assert natural(row, "util_pct") == pytest.approx(30)
    assert (row.values["util_readings"], row.values["util_watched_ms"]) == (10, 10_000)
    assert node.fake.calls("nvmlDeviceGetSamples") == 1


def test_a_long_interval_reads_the_buffer_in_between(fake_nvml):
    node = StandIn(fake_nvml, interval_s=60)
    wave = "gpu.0.util_gpu=square(0,100,10)\n"
    node.read(0, wave)
    taken = [node.gpu.gather(at) for second in range(1, 60) if node.gpu.wants_gathering(at := node.set(second, wave))]
    assert len(taken) == 5
    assert node.row(60, wave).values["util_watched_ms"] == 60_000
    node.inventory.close()


def test_not_supported_everywhere_is_null_with_the_reason(node):
    scenario = "gpu.0.return.* = NOT_SUPPORTED\ngpu.0.return.nvmlDeviceGetUUID = SUCCESS\n"
    node.read(0, scenario)
    row = node.row(10, scenario)
    assert set(row.values.values()) == {Reason.NOT_SUPPORTED}
    assert {"util_pct", "mem_used_mib", "power_w", "energy_j", "temp_c", "event_reasons"} <= set(row.values)


@pytest.mark.parametrize("more", ["", "gpu.0.mig_utilization=1\n"])
def test_a_mig_parent_is_unknown_not_idle(node, more):
    """Also where a driver answers with the zero of a GPU that has no work of its own."""
    scenario = "gpu.0.mig_mode=1\n" + more
    node.read(0, scenario)
    assert gathered(node, range(1, 10), scenario) == [0] * 9
    values = node.row(10, scenario).values
    assert {values[name] for name in ("util_pct", "mem_util_pct", "enc_pct", "dec_pct")} == {Reason.NOT_SUPPORTED}
    assert "util_watched_ms" not in values
    assert natural(node.row(20, scenario), "power_w") == 70
    assert node.inventory.devices[0].in_mig_mode


def test_mig_mode_that_is_switched_while_the_driver_is_open(node):
    node.read(0)
    assert natural(node.row(10), "util_pct") == 0
    node.row(20, "gpu.0.mig_mode=1\n")
    row = node.row(30)
    assert natural(row, "util_pct") == 0
    assert not node.inventory.devices[0].in_mig_mode


def test_values_that_cannot_be_are_null_with_the_reason(node):
    node.read(0)
    row = node.row(10, "gpu.0.power_usage_mw=4294967295\ngpu.0.clock_sm=4294967295\ngpu.0.util_enc=50583\n")
    assert {row.values[name] for name in ("power_w", "sm_clock_mhz", "enc_pct")} == {Reason.OUT_OF_RANGE}
    assert row.values["temp_c"] == 33


def test_rubbish_utilization_is_left_out_and_counted(node):
    node.read(0)
    rubbish = "gpu.0.return.nvmlDeviceGetUtilizationRates = UNKNOWN\ngpu.0.util_gpu=square(96,808334905,4)\n"
    report = node.read(10, rubbish)
    assert natural(report.rows[0], "util_pct") == pytest.approx(96)
    (event,) = report.events
    assert (event.kind, event.device) == ("readings_refused", 0)


def test_only_rubbish_is_out_of_range(node):
    node.read(0)
    row = node.row(10, "gpu.0.util_gpu=4294967295\n")
    assert row.values["util_pct"] is Reason.OUT_OF_RANGE


def test_a_failed_reading_is_null_and_the_rest_of_the_row_stands(node):
    node.read(0)
    failing = "gpu.0.return.nvmlDeviceGetUtilizationRates=UNKNOWN\ngpu.0.return.nvmlDeviceGetSamples=UNKNOWN\n"
    row = node.row(10, failing)
    assert row.values["util_pct"] is Reason.FAILED
    assert natural(row, "power_w") == 70
    assert node.row(20).values["util_pct"] == 0


def test_energy_is_the_difference_of_the_counter(node):
    node.read(0, "gpu.0.energy_mj=5000000\n")
    assert node.row(10, "gpu.0.energy_mj=5700000\n").values["energy_j"] == 700
    assert node.row(20, "gpu.0.energy_mj=1200\n").values["energy_j"] is Reason.OUT_OF_RANGE
    assert node.row(30, "gpu.0.energy_mj=701200\n").values["energy_j"] == 700
    assert node.row(40, "gpu.0.energy_mj=99000000000\n").values["energy_j"] is Reason.OUT_OF_RANGE


def test_a_lost_gpu_leaves_the_others_and_comes_back(node):
    four = "count=4\n"
    node.read(0, four)
    report = node.read(10, four + "gpu.2.lost=1\n")
    assert [row.device for row in report.rows] == [0, 1, 3]
    assert report.absent == (2,)
    node.fake.reset()
    assert [row.device for row in node.read(20, four).rows] == [0, 1, 3]  # back, but the wait is not over
    node.read(41, four)
    assert [row.device for row in node.read(51, four).rows] == [0, 1, 2, 3]
    kinds = [(event.kind, event.device) for event in node.inventory.take_events()]
    assert kinds == [("gpu_lost", 2), ("gpu_back", 2)]


def test_a_gpu_that_stays_lost_is_looked_for_ever_less_often(node):
    node.read(0, "count=2\n")
    for at_s in range(10, 3600, 10):
        node.read(at_s, "count=2\ngpu.1.lost=1\n")
    assert 6 <= node.fake.calls("nvmlDeviceGetCount_v2") <= 12  # once an enumeration


def test_a_driver_that_appears_later_is_used(node):
    missing = "return.nvmlInit = DRIVER_NOT_LOADED\n"
    assert "not loaded" in node.read(0, missing).error
    node.read(10, missing)
    assert node.read(15, "").error  # waits, so as not to load a driver that comes and goes
    for at_s in (60, 70):
        report = node.read(at_s, "")
    assert (report.error, len(report.rows)) == ("", 1)
    assert [event.kind for event in node.inventory.take_events()] == ["driver_missing", "driver_back"]


def test_a_driver_that_goes_away_and_comes_back(node):
    node.read(0)
    node.read(10)
    gone = "return.* = DRIVER_NOT_LOADED\n"
    assert node.read(20, gone).rows == ()
    assert "gone" in node.read(21, gone).error
    node.read(31)
    assert len(node.read(41).rows) == 1
    assert [event.kind for event in node.inventory.take_events()] == ["driver_missing", "driver_back"]


def test_devices_keep_their_position_when_the_order_changes(node):
    first, second = "uuid=GPU-aaaa\n", "uuid=GPU-bbbb\n"
    node.read(0, f"count=2\ngpu.0.{first}gpu.1.{second}")
    node.read(10, f"count=2\ngpu.0.{first}gpu.1.{second}gpu.0.lost=1\n")
    node.read(41, f"count=2\ngpu.0.{second}gpu.1.{first}")
    assert [(device.uuid, device.index) for device in node.inventory.devices] == [("GPU-aaaa", 1), ("GPU-bbbb", 0)]


def test_a_row_covers_two_and_a_half_intervals_at_most(node):
    node.read(0)
    assert node.row(600).span_ms == 25_000


def test_rows_never_overlap_when_the_clock_is_set_back_a_little(node):
    node.read(0)
    node.row(10)
    node.set(20, "")
    assert node.gpu.read(Moment((START_S + 8) * 1000, 5020.0)).rows == ()
    (row,) = node.gpu.read(Moment((START_S + 18) * 1000, 5030.0)).rows
    assert row.span_ms == 8000


def test_a_clock_set_back_far_starts_anew(node):
    node.read(3600)
    assert node.read(0).rows == ()
    assert node.row(10).span_ms == 10_000


def test_a_clock_set_forward_does_not_stretch_a_row(node):
    node.read(0)
    node.set(3610, "")
    (row,) = node.gpu.read(Moment((START_S + 3610) * 1000, 5010.0)).rows
    assert row.span_ms == 10_000


def test_eight_gpus_cost_few_calls(node):
    node.read(0, "count=8\n")
    node.fake.reset()
    node.read(10, "count=8\n")
    assert node.fake.calls() <= 8 * 14
