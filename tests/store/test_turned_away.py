"""Refused deliveries by reason and source, over the last ten minutes and in bounded memory."""

from store.turned_away import KEPT_MS, MAX_SOURCES, TurnedAway

NOW = 1_795_392_000_000


def test_what_is_long_over_is_forgotten() -> None:
    seen = TurnedAway()
    seen.count(401, "10.0.0.1", NOW)
    seen.count(401, "10.0.0.1", NOW + KEPT_MS // 2)
    assert "2 without a good token (401) from 10.0.0.1" in seen.sentence(NOW + KEPT_MS // 2)
    assert "1 without a good token" in seen.sentence(NOW + KEPT_MS + 1)
    assert seen.sentence(NOW + 2 * KEPT_MS) == ""


def test_few_sources_are_named_and_many_are_counted() -> None:
    seen = TurnedAway()
    for number in range(MAX_SOURCES + 50):
        seen.count(401, f"10.1.{number // 250}.{number % 250}", NOW)
    sentence = seen.sentence(NOW)
    assert f"{MAX_SOURCES + 50} without a good token" in sentence
    assert f"and {MAX_SOURCES - 4} more" in sentence


def test_other_answers_are_no_refusals() -> None:
    seen = TurnedAway()
    for status in (200, 404, 405):
        seen.count(status, "10.0.0.1", NOW)
    assert seen.sentence(NOW) == ""
