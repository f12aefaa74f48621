import os

import pytest

from collector.carryover import OpenSession
from collector.readings import GpuProcess
from collector.sessions import Sessions
from store.segment import Device

DEVICES = [Device(uuid="GPU-a", index=0, minor=3), Device(uuid="GPU-b", index=1, minor=2)]
MINUTE = 60_000


def python(uid):
    return GpuProcess(100 + uid, uid, "python", 500)


@pytest.fixture
def sessions():
    return Sessions("n1", "c", 10 * MINUTE, [])


def lasting(holdings):
    return [(holding.uid, holding.devices, holding.start_ms) for holding in holdings if holding.end_ms is None]


def ended(holdings):
    return [(holding.uid, holding.start_ms, holding.end_ms) for holding in holdings if holding.end_ms is not None]


def test_a_users_processes_on_one_gpu_are_one_session(sessions):
    held = sessions.holdings(7000, DEVICES, {0: (python(0), python(0)), 1: ()})
    (holding,) = held
    assert (holding.kind, holding.source, holding.cluster, holding.user) == ("session", "process", "c", "root")
    assert (holding.job_id, holding.devices, holding.start_ms, holding.name) == ("s-n1-0-3-7", (0,), 7000, "python")


def test_two_gpus_are_two_sessions(sessions):
    held = sessions.holdings(0, DEVICES, {0: (python(1),), 1: (python(1),)})
    assert lasting(held) == [(1, (0,), 0), (1, (1,), 0)]


def test_a_short_gap_is_joined(sessions):
    sessions.holdings(0, DEVICES, {0: (python(1),)})
    assert lasting(sessions.holdings(9 * MINUTE, DEVICES, {0: ()})) == [(1, (0,), 0)]
    assert lasting(sessions.holdings(9 * MINUTE + 1, DEVICES, {0: (python(1),)})) == [(1, (0,), 0)]


def test_a_long_gap_ends_the_session_when_its_last_process_was_seen(sessions):
    sessions.holdings(0, DEVICES, {0: (python(1),)})
    sessions.holdings(3 * MINUTE, DEVICES, {0: (python(1),)})
    over = sessions.holdings(13 * MINUTE, DEVICES, {0: ()})
    assert ended(over) == [(1, 0, 3 * MINUTE)]
    assert sessions.holdings(14 * MINUTE, DEVICES, {0: ()}) == ()
    again = sessions.holdings(15 * MINUTE, DEVICES, {0: (python(1),)})
    assert lasting(again) == [(1, (0,), 15 * MINUTE)]


def test_a_return_after_the_gap_is_another_session_in_the_same_breath(sessions):
    sessions.holdings(0, DEVICES, {0: (python(1),)})
    held = sessions.holdings(11 * MINUTE, DEVICES, {0: (python(1),)})
    assert (lasting(held), ended(held)) == ([(1, (0,), 11 * MINUTE)], [(1, 0, 0)])


def test_another_users_work_ends_the_wait_of_the_one_who_paused(sessions):
    sessions.holdings(0, DEVICES, {0: (python(1),)})
    held = sessions.holdings(MINUTE, DEVICES, {0: (python(2),)})
    assert (lasting(held), ended(held)) == ([(2, (0,), MINUTE)], [(1, 0, 0)])
    assert not any(holding.shared for holding in held)


def test_two_users_at_once_share_and_stay_marked(sessions):
    sessions.holdings(0, DEVICES, {0: (python(1),)})
    both = sessions.holdings(MINUTE, DEVICES, {0: (python(1), python(2))})
    assert [holding.shared for holding in both] == [True, True]
    after = sessions.holdings(2 * MINUTE, DEVICES, {0: (python(1),)})
    assert [holding.shared for holding in after if holding.uid == 1] == [True]


def test_a_process_without_a_known_owner_belongs_to_nobody(sessions):
    assert sessions.holdings(0, DEVICES, {0: (GpuProcess(9, None, "", None),)}) == ()


def test_a_gpu_that_could_not_be_asked_does_not_end_its_session_at_once(sessions):
    sessions.holdings(0, DEVICES, {0: (python(1),)})
    assert lasting(sessions.holdings(MINUTE, DEVICES, {})) == [(1, (0,), 0)]


def test_sessions_outlive_a_restart_of_the_agent():
    kept: list[OpenSession] = []
    Sessions("n1", "c", 10 * MINUTE, kept).holdings(5000, DEVICES, {0: (python(1),)})
    after = Sessions("n1", "c", 10 * MINUTE, kept)
    assert after.holdings(5000 + MINUTE, [], {}) == ()  # the driver is still loading
    (holding,) = after.holdings(5000 + 2 * MINUTE, list(reversed(DEVICES)), {1: (python(1),)})
    assert (holding.job_id, holding.start_ms, holding.devices) == ("s-n1-1-3-5", 5000, (1,))


def test_a_user_without_a_name_is_the_number(sessions):
    (holding,) = sessions.holdings(0, DEVICES, {0: (python(3_999_999_999),)})
    assert holding.user == "3999999999"
    assert os.getuid() != 3_999_999_999
