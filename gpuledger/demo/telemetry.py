"""What an agent on a node would have read: rows of every GPU of the node, as the catalogue's scaled integers."""

import msgspec
import numpy as np
import numpy.typing as npt

from gpuledger.demo.cluster import BASELINE_MIB, GpuModel, Node
from gpuledger.demo.incidents import Span
from gpuledger.demo.mechanisms import activity
from gpuledger.demo.noise import Floats, Ints, chance, channels, wander
from gpuledger.demo.timeline import EXCESS, Stay, timeline
from store.catalog import BY_NAME

MINUTE_S = 60
MISSED = 0.0005  # of all rows: a tick that the agent did not keep
LONGEST_SPAN = 2.5  # intervals that a row may stand for
LAG_S = 120.0  # a heat sink follows the power of about this long
AMBLE_S = 600.0  # step of the slow walk: file systems and neighbours change within minutes
POLLED_MIB_S = 0.05  # an idle GPU still answers its driver
RESIDENT_WARPS = 0.42  # of those that a busy SM can hold: registers and shared memory run out before
HOT_C = 86  # where a bad fan lets the driver slow the clocks
HOT_EXTRA_C = 19.0
IDLE, POWER_CAP, SOFTWARE_THERMAL = 0x1, 0x4, 0x20  # nvmlClocksEventReason*

Column = npt.NDArray[np.generic]


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent on this node watches, and when it cannot."""

    node: Node
    interval_s: int
    stays: tuple[list[Stay], ...]  # by GPU
    blind: tuple[Span, ...] = ()  # node or agent away
    lost: tuple[Span, ...] = ()
    hot: tuple[int, ...] = ()


class Rows(msgspec.Struct, frozen=True):
    """Rows of one node, by GPU, then by time. ``owner`` -1: nobody. ``valid`` False: the GPU did not answer."""

    ends_s: Ints
    owner: Ints
    device: Ints
    valid: npt.NDArray[np.bool_]
    columns: dict[str, Column]


def read(watch: Watch, from_s: int, to_s: int) -> Rows:
    """Returns the rows that end in (from_s, to_s]; both on whole minutes, or ``to_s`` on a tick."""
    parts = [_gpu(watch, gpu, from_s, to_s) for gpu in range(len(watch.node.devices))]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    columns = _columns(watch.node.model, joined)
    return Rows(
        joined["end"].astype(np.int64), joined["owner"].astype(np.int64), joined["device"].astype(np.int64),
        ~joined["lost"].astype(np.bool_), columns,
    )  # fmt: skip


def _gpu(watch: Watch, gpu: int, from_s: int, to_s: int) -> dict[str, Floats]:
    key = watch.node.ordinal * 64 + gpu
    before_s = from_s - int(LAG_S)
    stays = [stay for stay in watch.stays[gpu] if stay.start_s < to_s and stay.end_s > before_s]
    line = timeline(stays, watch.node.model, before_s, to_s)
    starts, ends = _spans(watch, key, stays, from_s, to_s)
    pieces = line.pieces(ends)
    totals = line.totals_at(ends, pieces)
    seconds = np.maximum(ends - starts, 1.0)
    means = (totals - line.totals_at(starts, line.pieces(starts + 1e-6))) / seconds[:, None]
    ago = ends - LAG_S
    lagged_w = (
        totals[:, EXCESS] - line.totals_at(ago, line.pieces(np.maximum(ago, before_s + 1e-6)))[:, EXCESS]
    ) / LAG_S
    noise = channels(key, ends.astype(np.int64))
    held = line.levels[pieces]
    ranges = [span for span in watch.lost if span.gpu == gpu]
    return {
        "end": ends,
        "seconds": np.minimum(seconds, LONGEST_SPAN * watch.interval_s),
        "owner": line.owners[pieces].astype(np.float64),
        "device": np.full(len(ends), float(gpu)),
        "lost": _within(ends, ranges).astype(np.float64),
        "swing": 1 + held[:, activity.JITTER] * (0.8 * wander(key, ends, AMBLE_S) + 0.6 * noise[:, 0]),
        "spark": noise[:, 1],
        "drift": noise[:, 2],
        "busy": means[:, activity.BUSY],
        "awake": means[:, activity.AWAKE],
        "sm": means[:, activity.SM],
        "tensor": means[:, activity.TENSOR],
        "dram": means[:, activity.DRAM],
        "rx": means[:, activity.RX],
        "tx": means[:, activity.TX],
        "link": means[:, activity.LINK],
        "excess": means[:, EXCESS],
        "lagged": lagged_w,
        "extra_c": np.full(len(ends), (HOT_EXTRA_C if gpu in watch.hot else 0.0) + (key * 7 % 5) - 2.0),
        "mem": held[:, activity.MEM_MIB],
        "processes": held[:, activity.PROCESSES],
    }


def _spans(watch: Watch, key: int, stays: list[Stay], from_s: int, to_s: int) -> tuple[Floats, Floats]:
    """Returns starts and ends of the rows: ticks, and a row closed where an allocation begins or ends."""
    ticks = np.arange(from_s + watch.interval_s, to_s + 1, watch.interval_s, dtype=np.int64)
    off_minute = 1 - watch.interval_s / MINUTE_S
    if off_minute > 0:  # ticks on the minute are always kept, so that no gap reaches over a segment's end
        ticks = ticks[(chance(key, ticks) >= MISSED / off_minute) | (ticks % MINUTE_S == 0)]
    moments = [moment for stay in stays for moment in (stay.start_s, stay.end_s) if from_s < moment < to_s]
    ends = np.union1d(ticks, np.array(moments, dtype=np.int64)).astype(np.float64)
    ends = ends[~_within(ends, list(watch.blind))]
    starts = np.concatenate(([float(from_s)], ends[:-1]))
    for span in watch.blind:  # nothing covers the time away: the first row after it begins where it ended
        starts = np.where((starts < span.end_s) & (ends > span.end_s), np.maximum(starts, span.end_s), starts)
    return starts[: len(ends)], ends


def _within(ends: Floats, spans: list[Span]) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(ends), dtype=np.bool_)
    for span in spans:
        inside |= (ends > span.start_s) & (ends <= span.end_s)
    return inside


def _columns(model: GpuModel, raw: dict[str, Floats]) -> dict[str, Column]:
    """Turns means and noise into the catalogue's columns."""
    swing, spark, seconds = raw["swing"], raw["spark"], raw["seconds"]
    busy = np.clip(raw["busy"] * swing, 0, 1)
    some = raw["busy"] > 0
    when_awake = busy / np.maximum(raw["awake"], 0.01)
    power = model.idle_w * (1 + raw["extra_c"] * 0.008) + raw["excess"] * swing
    reading = np.minimum(power + raw["excess"] * 0.03 * spark + 0.4 * spark, model.limit_w * 1.01)
    temperature = (
        model.ambient_c + raw["extra_c"] + (model.idle_w + raw["lagged"]) * model.warming_c_per_w + 0.4 * spark
    )
    open_context = (raw["processes"] > 0) | some
    capped = reading > 0.96 * model.limit_w
    hot = temperature >= HOT_C
    slowed = 1 - 0.06 * capped * (1 + 0.3 * raw["drift"]) - 0.22 * hot
    natural: dict[str, Floats] = {
        "util_pct": 100 * busy,
        "util_max_pct": np.where(some, np.clip(np.ceil(100 * when_awake * (1.12 + 0.11 * spark)), 1, 100), 0),
        "util_readings": seconds * (1 + 5 * raw["awake"]),  # about 6 a second, one a second while the buffer is dry
        "util_below1_ratio": np.clip(1 - raw["awake"], 0, 1),
        "util_watched_ms": seconds * 1000,
        "enc_pct": np.zeros_like(busy),
        "dec_pct": np.zeros_like(busy),
        "mem_util_pct": np.clip(100 * raw["dram"] * swing, 0, 100),
        "mem_used_mib": np.maximum(raw["mem"], BASELINE_MIB),
        "mem_reserved_mib": np.full_like(busy, model.mem_reserved_mib),
        "power_w": reading,
        "energy_j": np.minimum(power, model.limit_w) * seconds,
        "sm_clock_mhz": np.where(open_context, np.rint(model.sm_mhz * slowed / 15) * 15, model.sm_idle_mhz),
        "mem_clock_mhz": np.where(open_context, model.mem_mhz, model.mem_idle_mhz).astype(np.float64),
        "temp_c": temperature,
        "event_reasons": np.where(open_context, POWER_CAP * capped + SOFTWARE_THERMAL * hot, IDLE).astype(np.float64),
        "processes": raw["processes"],
    }
    natural["pcie_rx_mib"] = (POLLED_MIB_S + raw["rx"] * swing) * seconds
    natural["pcie_tx_mib"] = (POLLED_MIB_S + raw["tx"] * swing) * seconds
    if model.nvlink_mib_s:
        natural["nvlink_rx_mib"] = raw["link"] * swing * seconds
        natural["nvlink_tx_mib"] = natural["nvlink_rx_mib"]
    if model.has_gpm:
        natural["sm_active_pct"] = np.clip(100 * raw["sm"] * swing, 0, 100)
        natural["sm_occupancy_pct"] = RESIDENT_WARPS * natural["sm_active_pct"]
        natural["gr_active_pct"] = natural["util_pct"]
        natural["tensor_active_pct"] = np.clip(100 * raw["tensor"] * swing, 0, 100)
        natural["dram_active_pct"] = np.clip(100 * raw["dram"] * swing, 0, 100)
    stored: dict[str, Column] = {name: _stored(name, values) for name, values in natural.items()}
    stored["ts_ms"] = (raw["end"] * 1000).astype("<i8")
    stored["span_ms"] = (seconds * 1000).astype("<u4")
    stored["device"] = raw["device"].astype("<u2")
    return stored


def _stored(name: str, natural: Floats) -> Column:
    metric = BY_NAME[name]
    return np.rint(natural * metric.per_unit).astype(f"<{metric.dtype}")
