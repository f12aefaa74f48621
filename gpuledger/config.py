"""Reads one TOML file into settings structs and says in one sentence what is wrong with it."""

import difflib
import re
import tomllib
import types
from pathlib import Path
from typing import Any, Final, TypeVar, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from analytics.site import SiteSettings
from collector.probes import known_probes
from collector.settings import CollectorSettings

DEFAULT_CONFIG: Final = Path("/etc/gpuledger/config.toml")
S = TypeVar("S", bound=msgspec.Struct)


class ConfigError(ValueError):
    """A configuration that cannot be used: one sentence that names the key and the next step."""


def read(path: Path | None, struct: type[S], others: tuple[str, ...] = ()) -> S:
    """Returns the settings of a TOML file, every missing key at its default.

    Args:
        path: the file; None takes DEFAULT_CONFIG where it exists, else the defaults alone.
        struct: its fields are the sections that are read.
        others: names of sections that may be there and are not read.

    Raises:
        ConfigError: the file is missing, is no TOML, or holds an unknown key or a value that cannot be.
    """
    if path is None:
        if not DEFAULT_CONFIG.exists():
            return struct()
        path = DEFAULT_CONFIG
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}; name another file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}; mend that line.") from error
    return parse(document, str(path), struct, others)


def parse(document: dict[str, Any], name: str, struct: type[S], others: tuple[str, ...] = ()) -> S:
    """Returns the settings of a parsed document; ``name`` stands in the sentences. Raises ConfigError."""
    read_here = {key: value for key, value in document.items() if key not in others}
    _refuse_unknown(read_here, struct, "", name, others)
    try:
        settings = msgspec.convert(read_here, struct)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{name}: {_invalid(error, struct)}; config.example.toml shows every key with its default."
        ) from error
    site, collector = getattr(settings, "site", None), getattr(settings, "collector", None)
    if isinstance(site, SiteSettings):
        _refuse_unknown_zone(site.zone, name)
    if isinstance(collector, CollectorSettings):
        _refuse_unknown_probes(collector.probes, name)
    return settings


_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list in [ ]",
    "object": "a section",
    "null": "nothing",
}
_MISMATCH: Final = re.compile(r"Expected (\w+)((?: (?:of length )?[<>]=? [-.\d]+)?)(?:, got (\w+))?")


def _invalid(error: msgspec.ValidationError, struct: type[msgspec.Struct]) -> str:
    """Turns msgspec's "Expected `int`, got `str` - at `$.hub.port`" round: the key comes first, in plain words."""
    said, _, where = str(error).partition(" - at `$")
    said, key = said.replace("`", ""), where.strip("`.")
    if said.startswith("Invalid enum value"):
        choices = ", ".join(f'"{choice}"' for choice in _choices(struct, key))
        return f"{key} is one of {choices}, not {said.removeprefix('Invalid enum value').strip()}"
    found = _MISMATCH.fullmatch(said)
    if found is not None and found[1] in _KINDS:
        limit = found[2].replace(">=", "of at least").replace("<=", "of at most")
        got = f", not {_KINDS.get(found[3], found[3])}" if found[3] else ""
        said = f"{_KINDS[found[1]]}{limit} belongs here{got}"
        return f"{key}: {said}"
    return said if not key or said.startswith(key) else f"{key}: {said[0].lower()}{said[1:]}"


def _choices(struct: type[msgspec.Struct], key: str) -> tuple[object, ...]:
    """Returns the values that a key, such as collector.slurm, may have."""
    annotation: Any = struct
    for name in key.split("."):
        here = _struct_of(annotation)
        if here is None:
            return ()
        annotation = {field.encode_name: field.type for field in msgspec.structs.fields(here)}[name]
    return get_args(annotation)


def _refuse_unknown_zone(zone: str, name: str) -> None:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(f"{name}: site.zone {zone!r} is no time zone; write one such as Europe/Helsinki.") from error


def _refuse_unknown_probes(probes: tuple[str, ...], name: str) -> None:
    known = known_probes()
    for probe in probes:
        if probe not in known:
            raise ConfigError(f"{name}: collector.probes names {probe!r}, which is no probe; {_nearest(probe, known)}")


def _refuse_unknown(value: Any, annotation: Any, where: str, name: str, others: tuple[str, ...] = ()) -> None:
    """Walks a value beside its type and raises on the first key that the type does not know."""
    struct = _struct_of(annotation)
    if struct is not None and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
        for key, inner in value.items():
            shown = f"{where}.{key}" if where else key
            if key not in fields:
                raise ConfigError(f"{name}: unknown key {shown}; {_nearest(key, [*fields, *others])}")
            _refuse_unknown(inner, fields[key], shown, name)
    elif isinstance(value, list):
        for position, item in enumerate(value, 1):
            for inner in get_args(annotation):
                _refuse_unknown(item, inner, f"{where}[{position}]", name)


def _nearest(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"known here are {', '.join(sorted(known))}."


def _struct_of(annotation: Any) -> type[msgspec.Struct] | None:
    candidates = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, msgspec.Struct)), None)
