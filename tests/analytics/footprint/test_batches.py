"""However many raw rows are taken at once, and in whatever order they lie, a footprint is the same."""

from typing import Any

from analytics.settings import FootprintSettings
from store.samples import FOLDER
from tests.factories.ledger import MINUTE, T0
from tests.factories.scenes import Phase, Scene, blind, busy, gap, idle


def _everything(prints: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with prints.db.cursor() as cur:
        return (
            cur.arrow("SELECT * EXCLUDE (judged) FROM footprint_run ORDER BY run_key").to_pylist(),
            cur.arrow("SELECT * FROM footprint_gpu ORDER BY run_key, gpu_key").to_pylist(),
        )


def _again(prints: Any, **settings: Any) -> None:
    with prints.db.cursor() as cur:
        cur.execute("INSERT INTO dirty_run (run_key, gen) SELECT run_key, 1 FROM run")
    prints.renew(FootprintSettings(**settings))


def _play(scene: Scene, prints: Any) -> None:
    scene.run([busy(30), idle(20, held=True)], [idle(20), busy(30)], [busy(5), gap(20), busy(25)], nodes=3)
    scene.run([busy(30, 3), blind(9), idle(60)], [idle(99, held=True)], start_ms=T0 + 60 * MINUTE)
    hollow = Phase(minutes=60, util_pct=99.0, more={"sm_active_pct": 3.0, "dram_active_pct": 1.0})
    scene.run([hollow], [busy(60)], start_ms=T0 + 200 * MINUTE)
    scene.run(length_min=60, req_gpus=2, alloc_gpus=2)
    prints.make(scene)


def test_the_size_of_a_batch_changes_nothing(scene: Scene, prints: Any) -> None:
    _play(scene, prints)
    whole = _everything(prints)
    assert len(whole[1]) == 7
    for rows_at_once in (1, 100, 333):
        _again(prints, rows_at_once=rows_at_once)
        assert _everything(prints) == whole


def test_the_order_of_rows_changes_nothing(scene: Scene, prints: Any) -> None:
    _play(scene, prints)
    whole = _everything(prints)
    with prints.db.cursor() as cur:
        cur.execute("CREATE TEMP TABLE shuffled AS SELECT * FROM hot ORDER BY hash(ts_ms, gpu_key)")
        cur.execute("DELETE FROM hot")
        cur.execute("INSERT INTO hot SELECT * FROM shuffled")
    _again(prints)
    assert _everything(prints) == whole


def test_only_runs_without_gpus_are_due(scene: Scene, prints: Any) -> None:
    scene.run(length_min=60, req_gpus=2, alloc_gpus=2)
    prints.make(scene)
    assert not (prints.db.directory / FOLDER).exists()
    runs, gpus = _everything(prints)
    assert [run["gpus"] for run in runs] == [2]
    assert not gpus
