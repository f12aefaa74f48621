from collector.baseline import Baselines

GPU = "GPU-a"


def test_unknown_until_the_gpu_was_seen_empty():
    baselines = Baselines({})
    assert baselines.of(GPU) is None
    baselines.observe(GPU, 4, 81559)
    assert baselines.of(GPU) == 4


def test_the_lowest_since_boot_counts():
    baselines = Baselines({GPU: 9})
    baselines.observe(GPU, 4, 81559)
    baselines.observe(GPU, 30, 81559)
    assert baselines.of(GPU) == 4


def test_at_most_one_percent_of_capacity():
    baselines = Baselines({})
    baselines.observe(GPU, 10_000, 80_000)
    assert baselines.of(GPU) == 800


def test_memory_of_a_ghost_is_not_charged_to_the_next_run():
    baselines = Baselines({})
    baselines.observe(GPU, 4, 80_000)
    baselines.hold({GPU})
    baselines.hold(set())
    baselines.observe(GPU, 10_000, 80_000)
    assert baselines.of(GPU) == 4
    baselines.hold({GPU})
    assert baselines.of(GPU) == 10_000
    baselines.observe(GPU, 12_000, 80_000)
    assert baselines.of(GPU) == 10_000  # what the run holds meanwhile is its own


def test_a_size_that_is_not_known_gives_no_floor():
    baselines = Baselines({})
    baselines.observe(GPU, 4, None)
    assert baselines.of(GPU) is None
