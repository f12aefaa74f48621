"""Names that are the same but for numbers and hashes."""

import pytest

from analytics.family import FAMILY_SQL, MASKED_NAME_SQL, SUBMISSION_SQL
from store.database import Database


@pytest.mark.parametrize(
    ("name", "masked"),
    [
        ("train-17", "train-#"),
        ("train_lr0.001_seed42", "train_lr#_seed#"),
        ("eval-3f2a9b1c", "eval-#"),
        ("a-3f2a9b1c-0d1e2f3a4b", "a-#"),
        ("x 123e4567-e89b-12d3-a456-426614174000 y", "x # y"),
        ("v1.2", "v#"),
        ("v1.2.3", "v#"),
        ("résumé-2", "résumé-#"),
        ("train", "train"),
        ("", ""),
        (None, ""),
    ],
)
def test_masking(db: Database, name: str | None, masked: str) -> None:
    with db.cursor() as cur:
        assert cur.scalar(f"SELECT {MASKED_NAME_SQL} FROM (SELECT $1::VARCHAR AS name) AS run", [name]) == masked


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {}, True),
        ({"name": "train-1"}, {"name": "train-2"}, True),
        ({"name": "train-1"}, {"name": "eval-1"}, False),
        ({"user_name": "a"}, {"user_name": "b"}, False),
        ({"req_gpus": 4}, {"req_gpus": 8}, False),
        ({"nodes": 1}, {"nodes": 2}, False),
        ({"model": "A100"}, {"model": "H100"}, False),
        ({"name": "run.sh", "work_dir": "/x"}, {"name": "run.sh", "work_dir": "/y"}, False),
        ({"name": "run.sh", "work_dir": "/x"}, {"name": "run.sh", "work_dir": "/x"}, True),
        ({"name": "mine", "work_dir": "/x"}, {"name": "mine", "work_dir": "/y"}, True),
        ({"account": "ab", "partition": "c"}, {"account": "a", "partition": "bc"}, False),
    ],
)
def test_family(db: Database, one: dict[str, object], other: dict[str, object], same: bool) -> None:
    base = {
        "cluster": "c1",
        "user_name": "ann",
        "account": "phys",
        "partition": "gpu",
        "nodes": 1,
        "req_gpus": 4,
        "alloc_gpus": 4,
        "name": "job-x",
        "work_dir": "/home",
        "model": "A100",
    }
    with db.cursor() as cur:
        keys = []
        for values in (base | one, base | other):
            columns = ", ".join(f'${name} AS "{name}"' for name in values)
            keys.append(cur.scalar(f"SELECT {FAMILY_SQL} FROM (SELECT {columns}) AS run", values))
    assert (keys[0] == keys[1]) is same


@pytest.mark.parametrize(("job_id", "submission"), [("12", "c1:12"), ("12_7", "c1:12"), ("12+1", "c1:12")])
def test_an_array_is_one_submission(db: Database, job_id: str, submission: str) -> None:
    with db.cursor() as cur:
        sql = f"SELECT {SUBMISSION_SQL} FROM (SELECT 'c1' AS cluster, $1 AS job_id) AS run"
        assert cur.scalar(sql, [job_id]) == submission
