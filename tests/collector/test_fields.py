"""The buffer against pynvml's own structures, which the stand-in's compiler has checked against nvml.h."""

import ctypes

import pynvml
import pytest

from collector import fields
from collector.fields import Answer, Field, FieldBuffer


def test_the_layout_is_that_of_the_binding():
    structure = pynvml.c_nvmlFieldValue_t
    assert fields._LAYOUT.size == ctypes.sizeof(structure)
    names = ("fieldId", "scopeId", "timestamp", "latencyUsec", "valueType", "nvmlReturn", "value")
    assert [getattr(structure, name).offset for name in names] == [0, 4, 8, 16, 24, 28, 32]


@pytest.mark.parametrize(
    ("kind", "member", "value", "bits"),
    [
        (pynvml.NVML_VALUE_TYPE_DOUBLE, "dVal", 1.5, 64),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, "uiVal", 4_294_967_295, 32),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG, "ulVal", 1 << 40, 64),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, "ullVal", (1 << 64) - 1, 64),
        (pynvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG, "sllVal", -7, 64),
        (pynvml.NVML_VALUE_TYPE_SIGNED_INT, "siVal", -5, 32),
        (pynvml.NVML_VALUE_TYPE_UNSIGNED_SHORT, "usVal", 65_535, 16),
    ],
)
def test_the_union_is_read_by_the_type_of_the_value(kind, member, value, bits):
    buffer = FieldBuffer([Field(1), Field(138, 7)])
    structures = (pynvml.c_nvmlFieldValue_t * 2).from_buffer(buffer.memory)
    assert [(each.fieldId, each.scopeId) for each in structures] == [(1, 0), (138, 7)]
    structures[1].valueType = kind
    setattr(structures[1].value, member, value)
    structures[0].nvmlReturn = pynvml.NVML_ERROR_NOT_SUPPORTED
    assert buffer.answers() == [Answer(pynvml.NVML_ERROR_NOT_SUPPORTED), Answer(0, value, bits)]


def test_a_type_that_is_not_known_is_no_value():
    buffer = FieldBuffer([Field(1)])
    (structure,) = (pynvml.c_nvmlFieldValue_t * 1).from_buffer(buffer.memory)
    structure.valueType = 17
    assert buffer.answers() == [Answer(fields.UNREADABLE)]
