"""The structure that describes a sandbox is the same in C++ and in the harness's ctypes.

usage: sandbox_spec_test.py LIBRARY
"""

import ctypes
import pathlib
import sys
import unittest

HARNESS = pathlib.Path(__file__).resolve().parents[2] / "harness"


class SpecField(ctypes.Structure):
    """HearthSpecField of isolate/sandbox_spec.h."""

    _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_uint64), ("size", ctypes.c_uint64)]


def fields_in_library(path):
    """(name, offset, size) of each field, and the size of the structure."""
    fields = []
    address = ctypes.addressof(SpecField.in_dll(ctypes.CDLL(path), "hearth_spec_fields"))
    while True:
        field = SpecField.from_address(address + len(fields) * ctypes.sizeof(SpecField))
        if field.name is None:
            return fields, field.offset
        fields.append((field.name.decode(), field.offset, field.size))


def fields_in_harness():
    sys.path.insert(0, str(HARNESS))
    from executor_harness.zygote import sandbox_spec_type

    spec = sandbox_spec_type()
    fields = [(name, getattr(spec, name)) for name, _ in spec._fields_]
    return [(name, field.offset, field.size) for name, field in fields], ctypes.sizeof(spec)


class SandboxSpec(unittest.TestCase):
    library = None
    maxDiff = None

    def test_fields_have_the_same_names_offsets_and_sizes_on_both_sides(self):
        expected, expected_size = fields_in_library(self.library)
        found, found_size = fields_in_harness()
        self.assertEqual(found, expected)
        self.assertEqual(found_size, expected_size)
        self.assertGreater(len(expected), 20)


if __name__ == "__main__":
    SandboxSpec.library = sys.argv.pop(1)
    unittest.main()
