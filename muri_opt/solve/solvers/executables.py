"""For which machine an executable was built, read from the first bytes of its file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_ELF: Final = b"\x7fELF"
_ELF_MACHINES: Final = {3: "x86", 62: "x86-64", 183: "aarch64"}
_MACH: Final = b"\xcf\xfa\xed\xfe"
_MACH_MACHINES: Final = {0x01000007: "x86-64", 0x0100000C: "aarch64"}


def architecture_of(path: Path) -> str:
    """Return the architecture of an executable of Linux or macOS, ``"unknown"`` for any other file."""
    with path.open("rb") as file:
        head = file.read(20)
    if head.startswith(_ELF) and len(head) == 20:
        return _ELF_MACHINES.get(int.from_bytes(head[18:20], "little"), "unknown")
    if head.startswith(_MACH) and len(head) >= 8:
        return _MACH_MACHINES.get(int.from_bytes(head[4:8], "little"), "unknown")
    return "unknown"
