"""Runs with a label: a synthetic cluster through the real encoder, ingest, rollup and analysis."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from analytics.schedule import Schedule
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from gpuledger.demo.cluster import DAY_S
from gpuledger.demo.families import Family
from gpuledger.demo.settings import DemoSettings
from gpuledger.demo.stream import segments
from gpuledger.demo.truth import Truth, truths
from gpuledger.demo.workload import FAMILIES
from gpuledger.demo.world import World
from store.database import Database
from store.ingest import ingest
from store.rollup import roll_up
from store.segment import encode

START_S: Final = 1_764_547_200  # Monday 2025-12-01 00:00 UTC: the same seed gives the same runs on any day
UNEVEN_S: Final = 35 * 60 + 30  # the data ends neither on an hour nor on a minute


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of --params may say: families by name with the fields that differ, and thresholds as [analytics]."""

    families: dict[str, dict[str, Any]] = {}
    analytics: AnalyticsSettings = AnalyticsSettings()


def read_params(path: Path) -> Params:
    """Return the parameters in a TOML or JSON file; raises ValueError with one sentence where they cannot be."""
    text = path.read_text(encoding="utf-8")
    params = msgspec.convert(tomllib.loads(text) if path.suffix == ".toml" else json.loads(text), Params)
    known = {family.name for family in FAMILIES}
    if unknown := sorted(params.families.keys() - known):
        raise ValueError(f"{path}: no family is called {unknown[0]}; known are {', '.join(sorted(known))}.")
    return params


def altered(families: Sequence[Family], changes: Mapping[str, Mapping[str, Any]]) -> list[Family]:
    """Return the families with the fields of ``changes``; those of the program stand in ``does``."""
    return [_altered(family, changes[family.name]) if family.name in changes else family for family in families]


def _altered(family: Family, changes: Mapping[str, Any]) -> Family:
    does = family.does
    if "does" in changes:
        does = msgspec.convert(msgspec.to_builtins(does) | changes["does"], type(does))
    return msgspec.structs.replace(family, **{**changes, "does": does})


def make(directory: Path, sizes: DemoSettings, params: Params) -> list[Truth]:
    """Fill ``directory`` with the cluster, judge its runs, and return the truth about each."""
    end_s = START_S + sizes.days * DAY_S - UNEVEN_S
    world = World(sizes, START_S, end_s, altered(FAMILIES, params.families))
    with Database.open(directory, synthetic=True) as database:
        for from_s in range(START_S, end_s, DAY_S):
            day = segments(world, from_s, min(from_s + DAY_S, end_s), from_s)
            ingest(database, [(segment.name, encode(segment)) for segment in day], end_s * 1000)
            while roll_up(database):
                pass
        Schedule(database, params.analytics, SiteSettings(), lambda: end_s * 1000).run_all()
    return truths(world, end_s)
