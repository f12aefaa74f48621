import socket
import threading
import time

import pytest

from collector.deliver import BadAddress, Delivery
from collector.settings import CollectorSettings
from collector.spool import Spool
from tests.collector.hub import Hub
from tests.collector.test_spool import segment


class Sender:
    """A spool and the delivery of it to a hub."""

    def __init__(self, directory, url, **settings):
        self.spool = Spool(directory, 1 << 20, 1e9)
        self.refused = directory / "refused"
        self.delivery = Delivery(self.spool, CollectorSettings(hub=url, **settings))

    def put(self, seq):
        self.spool.put(*segment(seq))
        self.delivery.wake()

    def close(self):
        self.delivery.finish(5)
        self.spool.close()


@pytest.fixture
def hub():
    running = Hub()
    yield running
    running.stop()


@pytest.fixture
def sender(tmp_path, hub):
    opened = []

    def make(url=None, **settings):
        opened.append(Sender(tmp_path / "spool", url or hub.url, **settings))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def until(condition, timeout_s=10.0):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        threading.Event().wait(0.005)


def test_what_lies_in_the_spool_and_what_comes_is_delivered_in_order_and_deleted(hub, sender):
    one = sender(token="secret")
    one.put(0)
    one.delivery.start()
    for seq in (1, 2):
        one.put(seq)
    assert hub.wait_for(3) == [segment(seq)[1] for seq in range(3)]
    path, headers = hub.requests[0]
    assert (path, headers["Authorization"]) == ("/api/v1/segments", "Bearer secret")
    assert headers["Content-Type"] == "application/vnd.gpuledger.segment"
    until(lambda: len(one.spool) == 0)


def test_one_connection_serves_many(hub, sender):
    one = sender()
    for seq in range(20):
        one.put(seq)
    one.delivery.start()
    hub.wait_for(20)
    until(lambda: len(one.spool) == 0)


@pytest.mark.parametrize("status", [400, 409, 413, 422])
def test_what_the_hub_will_never_take_is_moved_aside_and_the_next_goes_on(hub, sender, status):
    hub.answer(status, b"a synthetic segment")
    one = sender()
    one.put(0)
    one.put(1)
    one.delivery.start()
    assert hub.wait_for(2) == [segment(1)[1]]
    until(lambda: len(one.spool) == 0)
    assert (one.refused / f"{segment(0)[0]}.segment").read_bytes() == segment(0)[1]
    assert "a synthetic segment" in (one.refused / f"{segment(0)[0]}.txt").read_text()


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_token_is_one_sentence_and_loses_nothing(hub, sender, caplog, status):
    hub.answer(status)
    one = sender(token="wrong")
    one.put(0)
    one.delivery.start()
    until(lambda: one.delivery.problem)
    assert "does not accept this node's token" in one.delivery.problem
    for seq in range(1, 5):
        one.put(seq)
    assert len([record for record in caplog.records if "token" in record.message]) == 1
    assert (len(one.spool), list(one.refused.iterdir())) == (5, [])


def test_a_token_that_was_changed_is_read_again(hub, sender, tmp_path):
    (tmp_path / "token").write_text("old\n")
    hub.answer(401)
    one = sender(token_file=str(tmp_path / "token"))
    one.put(0)
    one.delivery.start()
    until(lambda: one.delivery.problem)
    (tmp_path / "token").write_text("new\n")
    one.close()  # the last try comes at once
    assert [headers["Authorization"] for _, headers in hub.requests] == ["Bearer old", "Bearer new"]
    assert len(one.spool) == 0


def test_a_token_file_that_is_missing_is_one_sentence(hub, sender, tmp_path):
    one = sender(token_file=str(tmp_path / "none"))
    one.put(0)
    one.delivery.start()
    until(lambda: one.delivery.problem)
    assert "collector.token_file" in one.delivery.problem
    assert (len(one.spool), hub.requests) == (1, [])


def test_a_hub_that_is_busy_is_left_alone_for_as_long_as_it_asks(hub, sender):
    hub.answer(503, b"disk full", Retry_After="1")
    one = sender()
    one.put(0)
    began = time.monotonic()
    one.delivery.start()
    hub.wait_for(2)
    assert time.monotonic() - began >= 1.0
    until(lambda: len(one.spool) == 0)


def test_those_who_are_asked_to_wait_alike_do_not_come_back_together(sender):
    one = sender()
    waits = [one.delivery._next_wait_s(60.0) for _ in range(1000)]
    assert 60 <= min(waits) < 65
    assert 85 < max(waits) <= 90
    assert max(one.delivery._next_wait_s(1e9) for _ in range(100)) <= 900


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_hub_in_trouble_gets_it_later(hub, sender, status):
    hub.answer(status)
    one = sender()
    one.put(0)
    one.delivery.start()
    hub.wait_for(2)
    until(lambda: len(one.spool) == 0)


@pytest.mark.parametrize("status", [301, 404, 405])
def test_an_address_that_is_no_hub_is_one_sentence_and_loses_nothing(hub, sender, status):
    hub.answer(status)
    one = sender()
    one.put(0)
    one.delivery.start()
    until(lambda: one.delivery.problem)
    assert "does not name a GPU Ledger hub" in one.delivery.problem
    assert len(one.spool) == 1


def test_an_answer_that_was_lost_costs_a_repetition(hub, sender):
    hub.answer(0)
    one = sender()
    one.put(0)
    one.delivery.start()
    assert hub.wait_for(2) == [segment(0)[1]]
    until(lambda: len(one.spool) == 0)


def test_a_connection_that_was_closed_while_idle_is_no_problem(hub, sender, caplog):
    hub.drops = True
    one = sender()
    one.delivery.start()
    for seq in range(3):
        one.put(seq)
        hub.wait_for(seq + 1)
        until(lambda: len(one.spool) == 0)
    assert hub.bodies == [segment(seq)[1] for seq in range(3)]
    assert caplog.records == []


def test_a_hub_that_comes_up_later_gets_everything(sender):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    one = sender(f"http://127.0.0.1:{port}")
    for seq in range(3):
        one.put(seq)
    one.delivery.start()
    until(lambda: one.delivery.problem)
    assert "does not answer" in one.delivery.problem
    late = Hub(port)
    assert late.wait_for(3) == [segment(seq)[1] for seq in range(3)]
    until(lambda: not one.delivery.problem)
    late.stop()


def test_stopping_tries_once_more_and_keeps_the_rest(sender):
    one = sender("http://127.0.0.1:9")  # discard: nobody listens
    one.put(0)
    one.delivery.start()
    until(lambda: one.delivery.problem)
    began = time.monotonic()
    one.delivery.finish(5)
    assert time.monotonic() - began < 4
    assert len(one.spool) == 1


@pytest.mark.parametrize("address", ["", "hub:8050", "ftp://hub", "http://", "http://hub:port", "http://[::1"])
def test_an_address_that_is_none_is_one_sentence(tmp_path, address):
    spool = Spool(tmp_path, 1, 1)
    with pytest.raises(BadAddress, match=r"collector\.hub"):
        Delivery(spool, CollectorSettings(hub=address))
    spool.close()


def test_a_certificate_authority_that_is_missing_is_one_sentence(sender, tmp_path):
    one = sender("https://127.0.0.1:9", ca_file=str(tmp_path / "ca.pem"))
    one.put(0)
    one.delivery.start()
    until(lambda: one.delivery.problem)
    assert "collector.ca_file" in one.delivery.problem
