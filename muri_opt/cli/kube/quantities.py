"""Quantities as Kubernetes writes them: ``500m``, ``16Gi``, ``2e3``, plain numbers."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from muri_opt.errors import InputError

_SCALES: Final = {
    "": Decimal(1),
    **{mark: Decimal(10) ** power for mark, power in zip(("n", "u", "m"), (-9, -6, -3), strict=True)},
    **{mark: Decimal(1000) ** power for power, mark in enumerate("kMGTPE", start=1)},
    **{mark + "i": Decimal(1024) ** power for power, mark in enumerate("KMGTPE", start=1)},
}
_QUANTITY: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)([numkMGTPE]?i?)", re.ASCII)
GIBIBYTE: Final = 1024**3


def quantity(text: Any) -> float:
    """Return a quantity as a number; nothing is 0.

    >>> quantity("500m"), quantity("16Gi") == 16 * 2**30, quantity("2e3"), quantity(4), quantity(None)
    (0.5, True, 2000.0, 4.0, 0.0)
    """
    if text is None:
        return 0.0
    found = _QUANTITY.fullmatch(str(text).strip())
    if found is None or found[2] not in _SCALES:
        raise InputError("quantity", repr(text)[:80], "a quantity of Kubernetes, such as 500m, 16Gi, 2e3 or 4")
    return float(Decimal(found[1]) * _SCALES[found[2]])
