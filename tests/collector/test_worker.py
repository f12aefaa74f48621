import threading

import pytest

from collector.worker import Unanswered, Worker


def test_answers_and_errors_come_back():
    worker = Worker("test")
    assert worker.call(lambda: 7, 5) == 7
    with pytest.raises(ZeroDivisionError):
        worker.call(lambda: 1 // 0, 5)
    assert worker.call(lambda: 8, 5) == 8


def test_a_call_that_hangs_is_given_up_and_its_answer_dropped():
    worker, release = Worker("the driver"), threading.Event()
    with pytest.raises(Unanswered, match="the driver has not answered for"):
        worker.call(lambda: release.wait(30) and "old", 0.01)
    with pytest.raises(Unanswered):
        worker.call(lambda: "queued behind it", 0.01)
    release.set()
    deadline = threading.Event()
    for _ in range(500):
        try:
            assert worker.call(lambda: "new", 5) == "new"
            break
        except Unanswered:
            deadline.wait(0.01)
    else:
        pytest.fail("the worker never recovered")


def test_a_call_may_be_left_running():
    worker, release = Worker("slow"), threading.Event()
    worker.start(lambda: release.wait(30))
    assert worker.busy
    assert worker.finished() is None
    release.set()
    for _ in range(500):
        if worker.finished() is not None:
            break
        threading.Event().wait(0.01)
    assert not worker.busy
