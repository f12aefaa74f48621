import pytest

from collector.inventory import Inventory
from collector.probes import Context, UnknownProbe, build_probes
from collector.settings import CollectorSettings


def built(*names):
    return build_probes(Context(CollectorSettings(probes=names), Inventory(), "n1", "c"))


def test_the_default_probes_are_built_in_order():
    assert [probe.name for probe in built(*CollectorSettings().probes)] == ["gpu", "activity", "processes", "host"]


def test_every_probe_has_the_name_of_its_file():
    (probe,) = built("processes")
    assert probe.name == "processes"


def test_a_probe_that_does_not_exist_is_one_sentence_that_lists_those_that_do():
    with pytest.raises(UnknownProbe, match=r"names 'gpus', which is no probe; there are: .*gpu, host, processes"):
        built("gpus")
