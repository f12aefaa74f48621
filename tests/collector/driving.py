"""An agent that the test beats by hand, and a way of attribution that the test writes."""

from collector.agent import Agent
from collector.baseline import Baselines
from collector.settings import CollectorSettings
from store.segment import Holding, decode, encode
from tests.collector.conftest import START_S
from tests.collector.test_segmenter import ORIGIN, column

MS = 1000 * START_S


class Dropfiles:
    """An attribution that the test writes: holds by GPU, noticed within the second."""

    def __init__(self):
        self.now = ()
        self.news = False

    def write(self, *holdings):
        self.now, self.news = holdings, True

    def changed(self):
        return self.news

    def holdings(self, now_ms, devices, processes):
        self.news = False
        found, self.now = self.now, tuple(holding for holding in self.now if holding.end_ms is None)
        return found


class NoAttribution:
    """Nothing is known about who holds what."""

    def changed(self):
        return False

    def holdings(self, now_ms, devices, processes):
        return ()


def job(job_id, start_s, *devices, end_s=None):
    end_ms = None if end_s is None else MS + end_s * 1000
    return Holding(kind="job", cluster="c", job_id=job_id, start_ms=MS + start_s * 1000, end_ms=end_ms, devices=devices)


class Daemon:
    """An agent that is beaten by hand; ``shipped`` is what came out, through its bytes."""

    def __init__(self, node, attribution, probes=(), **settings):
        self.node = node
        self.shipped = []
        self.complaints = ()
        self.floors = {}
        self.agent = Agent(
            CollectorSettings(**settings),
            ORIGIN,
            node.inventory,
            [node.gpu, node.processes, *probes],
            attribution,
            Baselines(self.floors),
            self.ship,
        )

    def ship(self, segment):
        self.shipped.append(decode(encode(segment)))
        return self.complaints

    def start(self, scenario=""):
        self.agent.start(self.node.set(0, scenario))

    def to(self, seconds, scenario=""):
        """Beats once a second up to and including the given one, from the one before."""
        for second in seconds:
            self.agent.beat(self.node.set(second, scenario), reads=second % 10 == 0)

    def finish(self, at_s, scenario=""):
        self.agent.finish(self.node.set(at_s, scenario))
        return self.shipped[-1]


def times(segment):
    """The rows' times in seconds after the start."""
    return [(ts_ms - MS) / 1000 for ts_ms in column(segment.samples, "ts_ms")]


def holders(segment):
    """The rows' positions in the segment's holdings."""
    return column(segment.samples, "holding")
