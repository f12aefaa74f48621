"""Sections register themselves by decorator and are found by importing the package: no list to edit."""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Final

import msgspec

import analytics.reports.sections
from analytics.reports.model import Context, ScopeKind, Section

Make = Callable[[Context], Section | None]


class _Registered(msgspec.Struct, frozen=True):
    order: int
    scopes: frozenset[ScopeKind]
    make: Make


_sections: Final[list[_Registered]] = []


def section(order: int, *scopes: ScopeKind) -> Callable[[Make], Make]:
    """Registers a function that makes one section; None leaves it out. ``scopes`` empty: every report has it."""

    def register(make: Make) -> Make:
        everyone: tuple[ScopeKind, ...] = ("cluster", "account", "user")
        _sections.append(_Registered(order, frozenset(scopes or everyone), make))
        return make

    return register


def sections(context: Context) -> tuple[Section, ...]:
    """Returns the sections of a report, in order."""
    for module in pkgutil.iter_modules(analytics.reports.sections.__path__):
        importlib.import_module(f"analytics.reports.sections.{module.name}")
    chosen = sorted((each for each in _sections if context.scope.kind in each.scopes), key=lambda each: each.order)
    made = (each.make(context) for each in chosen)
    return tuple(each for each in made if each is not None)
