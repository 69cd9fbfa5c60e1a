"""Times that are sums of known amounts times unknown coefficients, none of them negative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.profiling.job_length.curve_fit import Floats
from muri_opt.rounds.quantities import finite

MOST_COEFFICIENT: Final = 1e12
_RANK: Final = 1e-9
_PRESENT: Final = 1e-6


def fit_times(
    seen_in: Mapping[str, str], amounts: Floats, times: Floats, fixed: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return the coefficient of every column of ``amounts`` that makes their sums nearest to the times.

    ``seen_in`` names the columns, and says in which samples each of them shows. Nearest means least squared error, and
    no coefficient is negative. Those in ``fixed`` keep the value given. Samples that leave one open are refused by its
    name.
    """
    from scipy.optimize import nnls

    names = tuple(seen_in)
    held = _checked(names, fixed or {})
    free = [name for name in names if name not in held]
    columns = amounts[:, [names.index(name) for name in free]]
    given = times - amounts[:, [names.index(name) for name in held]] @ np.array(list(held.values()))
    sizes = np.linalg.norm(columns, axis=0)
    _check_identified({name: seen_in[name] for name in free}, columns, sizes)
    found = nnls(columns / sizes, given)[0] / sizes if free else ()
    values = held | dict(zip(free, (float(value) for value in found), strict=True))
    return {name: values[name] for name in names}


def _check_identified(seen_in: Mapping[str, str], columns: Floats, sizes: Floats) -> None:
    """Refuse samples that are silent about some combination of coefficients, and name those in it.

    They are silent about a direction in which no sum changes; of two columns that are everywhere in one proportion,
    only a sum of the two coefficients shows. Noise in the times has no part in it.
    """
    scaled = columns / np.where(sizes > 0, sizes, 1.0)
    _, strengths, directions = np.linalg.svd(scaled, full_matrices=True)
    padded = np.zeros(len(seen_in))
    padded[: strengths.size] = strengths
    silent = directions[padded <= _RANK * padded.max(initial=0.0)]
    involved = np.abs(silent).max(axis=0, initial=0.0) > _PRESENT
    unknown = [name for name, found in zip(seen_in, involved, strict=True) if found]
    if unknown:
        wanted = "; ".join(f"{name} shows in {seen_in[name]}" for name in unknown)
        raise InputError(
            "samples",
            f"nothing that tells {', '.join(unknown)}",
            f"samples that identify every coefficient, or a fixed value for it ({wanted})",
        )


def _checked(names: tuple[str, ...], fixed: Mapping[str, float]) -> dict[str, float]:
    held: dict[str, float] = {}
    for name, value in fixed.items():
        if name not in names:
            raise unknown_name("fixed", name, names)
        held[name] = finite(f"fixed[{name}]", value, MOST_COEFFICIENT)
    return held
