"""The buffer of nvmlDeviceGetFieldValues: laid out once, filled by the driver, read in place.

The layout is nvmlFieldValue_t of nvml.h: fieldId u32, scopeId u32, timestamp i64, latencyUsec i64, valueType i32,
nvmlReturn i32, value (a union of 8 bytes). pynvml's wrapper makes an array of structures at every call and takes three
times as long. Field values are read by their type, and not at all where their own return code is not success.
"""

import ctypes
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

_LAYOUT: Final = struct.Struct("=IIqqii8s")
_VALUES: Final = (
    (struct.Struct("=d"), 64),
    (struct.Struct("=I"), 32),
    (struct.Struct("@L"), 8 * struct.calcsize("@L")),
    (struct.Struct("=Q"), 64),
    (struct.Struct("=q"), 64),
    (struct.Struct("=i"), 32),
    (struct.Struct("=H"), 16),
)
"""How to read the union, and how many bits it has then, by NVML_VALUE_TYPE_*."""
UNREADABLE: Final = -1
"""Code of a value whose type this does not know."""


class Field(NamedTuple):
    """NVML_FI_* and the scope that it is asked for: a link's number, or ALL_LINKS."""

    id: int
    scope: int = 0


class Answer(NamedTuple):
    """``code`` is the field's own nvmlReturn_t; the value means nothing unless it is 0 (success)."""

    code: int
    value: float = 0
    bits: int = 64


class FieldBuffer:
    """Fields that are asked of one device in one call; ``memory`` is what the driver fills."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        laid = b"".join(_LAYOUT.pack(field.id, field.scope, 0, 0, 0, 0, bytes(8)) for field in self.fields)
        self.memory = ctypes.create_string_buffer(laid, len(laid))

    def answers(self) -> list[Answer]:
        """Returns what the driver has put there, in the order of the fields."""
        return [_answer(kind, code, value) for *_, kind, code, value in _LAYOUT.iter_unpack(self.memory.raw)]


def _answer(kind: int, code: int, value: bytes) -> Answer:
    if code or not 0 <= kind < len(_VALUES):
        return Answer(code or UNREADABLE)
    layout, bits = _VALUES[kind]
    return Answer(0, layout.unpack_from(value)[0], bits)
