"""Thresholds: named, checked down to the key, and narrowed by overrides."""

from typing import Any

import msgspec
import pytest

from analytics.rules import REGISTERED, RULES
from analytics.rules.idle_tail import IdleTail
from analytics.settings import AnalyticsSettings


def read(document: dict[str, Any]) -> AnalyticsSettings:
    return msgspec.convert(document, AnalyticsSettings)


def idle_tail_s(settings: AnalyticsSettings, **run: str | None) -> float:
    asked = {"partition": None, "qos": None, "account": None} | run
    params = settings.params(REGISTERED["idle_tail"], **asked)
    assert isinstance(params, IdleTail)
    return params.idle_s


def test_defaults_are_those_of_the_rules() -> None:
    for rule in RULES:
        assert read({}).params(rule, None, None, None) == rule.params()


def test_a_rule_has_its_own_section() -> None:
    assert idle_tail_s(read({"rules": {"idle_tail": {"idle_s": 3600}}})) == 3600


@pytest.mark.parametrize(
    "document",
    [
        {"rules": {"idle_tial": {}}},
        {"rules": {"idle_tail": {"idel_s": 3}}},
        {"overrides": [{"rules": {"idle_tail": {"idel_s": 3}}}]},
        {"overrides": [{"partitoin": "x"}]},
        {"rules": {"idle_tail": {"idle_s": "long"}}},
        {"overrides": [{"rules": {"idle_tail": {"idle_s": "long"}}}]},
        {"rules": {"cpu_only": {"min_cpu_efficiency": 50}}},
        {"overrides": [{"rules": {"cpu_only": {"min_cpu_efficiency": 50}}}]},
        {"footprint": {"gap_s": 0}},
        {"confidence": {"high_coverage": 90}},
    ],
)
def test_what_is_mistyped_is_an_error_and_never_ignored(document: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(document)


def test_the_narrowest_override_wins() -> None:
    settings = read(
        {
            "rules": {"idle_tail": {"idle_s": 1}},
            "overrides": [
                {"partition": "gpu", "qos": "long", "rules": {"idle_tail": {"idle_s": 5}}},
                {"account": "physics", "rules": {"idle_tail": {"idle_s": 4}}},
                {"qos": "long", "rules": {"idle_tail": {"idle_s": 3}}},
                {"partition": "gpu", "rules": {"idle_tail": {"idle_s": 2, "short_idle_s": 7}}},
            ],
        }
    )
    assert idle_tail_s(settings) == 1
    assert idle_tail_s(settings, partition="gpu") == 2
    assert idle_tail_s(settings, qos="long") == 3
    assert idle_tail_s(settings, partition="gpu", qos="long") == 5
    assert idle_tail_s(settings, qos="long", account="physics") == 4
    both = settings.params(REGISTERED["idle_tail"], "gpu", None, "physics")
    assert isinstance(both, IdleTail)
    assert (both.idle_s, both.short_idle_s) == (4, 7)  # what the narrow one leaves out comes from the wider


def test_settings_survive_a_round_trip() -> None:
    settings = read({"overrides": [{"qos": "long", "rules": {"idle_tail": {"idle_s": 3}}}]})
    assert msgspec.json.decode(msgspec.json.encode(settings), type=AnalyticsSettings) == settings
