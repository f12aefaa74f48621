"""config.example.toml is written from the settings structs, whose every key has a sentence."""

import tomllib
from typing import Annotated

import msgspec
import pytest

from docs.configuration import example


class Price(msgspec.Struct):
    """[site.prices]: what a GPU-hour of one model costs."""

    model: str
    """Model name, or its beginning."""
    per_gpu_h: float = 0.0
    """Price in the site's currency."""


class Site(msgspec.Struct):
    """[site]: names and places.

    Not shown: only the first paragraph is.
    """

    name: str = 'the "site"'
    """What people
    call it."""
    zone: str | None = None
    """Its time zone."""
    share: Annotated[float, msgspec.Meta(ge=0)] = 0.25
    """A share."""
    limits: dict[str, int] = msgspec.field(default_factory=lambda: {"a b": 1})
    """Limits by name."""
    prices: tuple[Price, ...] = ()
    """Prices."""


class Whole(msgspec.Struct):
    """A file of one section."""

    site: Site = msgspec.field(default_factory=Site)


EXPECTED = """\

# Names and places.
[site]
# What people call it.
name = "the \\"site\\""
# Its time zone.
# zone =
# A share.
share = 0.25
# Limits by name.
limits = { "a b" = 1 }

# # What a GPU-hour of one model costs.
# [[site.prices]]
# # Model name, or its beginning.
# model = ""
# # Price in the site's currency.
# per_gpu_h = 0.0
"""


def test_every_kind_of_key() -> None:
    text = example(Whole)
    assert text.endswith(EXPECTED)
    assert msgspec.convert(tomllib.loads(text), Whole) == Whole()


def test_a_key_without_a_sentence_is_refused() -> None:
    class Bare(msgspec.Struct, frozen=True):
        """[bare]: without."""

        key: int = 0

    with pytest.raises(LookupError, match=r"Bare\.key"):
        example(msgspec.defstruct("Holder", [("bare", Bare, Bare())]))
