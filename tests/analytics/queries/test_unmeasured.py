"""Why a run has no reading of something."""

import pytest

from analytics.model import Viewer
from analytics.queries.unmeasured import reasons
from store.database import Cursor
from tests.factories.ledger import HOUR, T0, Ledger


@pytest.fixture
def run(cur: Cursor, ledger: Ledger) -> int:
    node = ledger.node()
    key = ledger.run(start_ms=T0 + HOUR, end_ms=T0 + 2 * HOUR)
    other = ledger.run(start_ms=T0 + 5 * HOUR, end_ms=T0 + 6 * HOUR)
    gpus = [ledger.gpu(node) for _ in range(3)]
    for gpu in gpus:
        ledger.hold(key, gpu)
    ledger.hold(other, ledger.gpu(node))

    def null(gpu: int, metric: str, reason: str, from_h: float, to_h: float) -> None:
        times = {"from_ms": T0 + round(from_h * HOUR), "to_ms": T0 + round(to_h * HOUR)}
        ledger.put("null_reason", gpu_key=gpu, metric=metric, reason=reason, **times)

    for gpu in gpus:
        null(gpu, "nvlink_rx_mib", "not_supported", 0, 9)
    null(gpus[0], "pcie_rx_mib", "failed", 1, 1.2)
    null(gpus[1], "pcie_rx_mib", "wraps", 1, 2)
    null(gpus[2], "pcie_rx_mib", "wraps", 1, 2)
    null(gpus[0], "temp_c", "failed", 3, 4)  # after the run
    ledger.save(cur)
    return key


def test_what_most_gpus_of_the_run_said_while_it_ran(cur: Cursor, run: int) -> None:
    found = reasons(cur, Viewer(), run)
    assert found == {
        "nvlink_rx_mib": "the driver or device does not offer this reading",
        "pcie_rx_mib": "the driver's counter begins anew more often than it is read",
    }


def test_nothing_of_somebody_else_s_run(cur: Cursor, run: int) -> None:
    assert reasons(cur, Viewer(kind="user", user="bob"), run) == {}
