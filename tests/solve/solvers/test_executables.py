"""For which machine an executable was built."""

import struct
from pathlib import Path

import pytest

from muri_opt.solve.solvers import backend_named
from muri_opt.solve.solvers.executables import architecture_of


def elf(machine):
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, machine) + bytes(40)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (elf(62), "x86-64"),
        (elf(183), "aarch64"),
        (elf(3), "x86"),
        (elf(243), "unknown"),
        (b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C), "aarch64"),
        (b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x01000007), "x86-64"),
        (b"#!/bin/sh\n", "unknown"),
        (b"\x7fELF", "unknown"),
        (b"", "unknown"),
    ],
)
def test_it_stands_in_the_first_bytes(tmp_path, data, expected):
    path = tmp_path / "program"
    path.write_bytes(data)
    assert architecture_of(path) == expected


def test_the_cbc_of_every_machine_is_told_apart():
    folder = backend_named("cbc").program().parents[1]
    shipped = {path.parent.name: architecture_of(path) for path in Path(folder).glob("*/cbc")}
    assert shipped["i64"] == "x86-64"
    assert shipped["arm64"] == "aarch64"
