"""A result as a certificate for the kernel: the round's exact program, the decision as a point, a proof of its bound.

The proof is made by branch and bound over the linear relaxation: the leaf with the largest bound is split on its most
fractional column until that bound is the value, or the allowed number of splits is used up. Nothing here is trusted:
:func:`muri_opt.verify.kernel.check` reads the certificate alone.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Ints, Model
from muri_opt.rounds import Decision, Round
from muri_opt.solve.solvers.boxed_relaxation import BoxedOptimum, BoxedRelaxation
from muri_opt.systems import Rules, program_of
from muri_opt.verify import chapter_of, kernel

DENOMINATOR = 1 << 32
"""Multipliers are rounded to whole numbers over this; the bound grows by less than the size of the program over it."""
MOST_ENTRIES = 4_000_000
"""How many entries of the program all splits together may pass over: a budget of work, no time."""
_FRACTION = 1e-6
_RAY_LENGTHS = tuple(4.0**power for power in range(30))

Tree = dict[str, Any]


def certificate_of(round_: Round, rules: Rules, decision: Decision, splits: int | None = None) -> dict[str, Any]:
    """Return the certificate of a decision: what the kernel reads, as plain lists, texts and integers.

    ``splits`` limits the branch and bound; 0 gives the bound of the linear relaxation. Without it the limit is
    :data:`MOST_ENTRIES`.

    >>> from muri_opt import read_round, solve_round
    >>> round_ = read_round("instances/toy/eight-gangs.json")
    >>> result = solve_round(round_, "srtf")
    >>> kernel.check(certificate_of(round_, result.rules, result.decision))
    (114, 114)
    """
    round_, decision = chapter_of(round_, rules).decided(decision)  # refuses a round of which they ignore a field
    formulation = program_of(rules)
    model = formulation.build(round_)
    objective = [0] * model.column_count
    for stage in formulation.stages(round_, model):
        objective = [all_ + stage.weight * one for all_, one in zip(objective, stage.objective.tolist(), strict=True)]
    point = formulation.encode(round_, decision).tolist()
    value = sum(weight * x for weight, x in zip(objective, point, strict=True))
    search = _Proof(model=model, columns=_columns(model, objective), rows=_rows(model), value=value)
    proof, bound = search.run(splits)
    return {
        "format": kernel.FORMAT,
        "program": model.name,
        "maximise": model.maximise,
        "value": value,
        "bound": bound,
        "denominator": DENOMINATOR,
        "columns": search.columns,
        "rows": search.rows,
        "point": point,
        "proof": proof,
    }


def _columns(model: Model, objective: list[int]) -> list[dict[str, Any]]:
    bounds = zip(model.column_names, model.lower.tolist(), model.upper.tolist(), objective, strict=True)
    return [{"name": name, "lower": low, "upper": high, "objective": weight} for name, low, high, weight in bounds]


def _rows(model: Model) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for family in model.rows:
        starts = family.starts.tolist()
        for position, right in enumerate(family.rhs.tolist()):
            span = slice(starts[position], starts[position + 1])
            found.append(
                {
                    "name": model.row_names[len(found)],
                    "sense": family.sense,
                    "right": right,
                    "columns": family.columns[span].tolist(),
                    "coefficients": family.coefficients[span].tolist(),
                }
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Leaf:
    """An open leaf: where its multipliers stand in the proof, its box, and the relaxation's values in it."""

    node: Tree
    lower: Ints
    upper: Ints
    values: NDArray[np.float64]


@dataclass(slots=True, kw_only=True, eq=False)
class _Proof:
    """The branch and bound of one certificate; bounds are the kernel's own, in exact integers."""

    model: Model
    columns: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    value: int
    _relaxation: BoxedRelaxation = field(init=False)
    _open: list[tuple[int, int, _Leaf]] = field(init=False, default_factory=list)
    _closed: list[int] = field(init=False, default_factory=list)

    @property
    def sign(self) -> int:
        """1 for a maximisation, -1 for a minimisation: bounds are upper bounds of the sign times the objective."""
        return 1 if self.model.maximise else -1

    def run(self, splits: int | None) -> tuple[Tree, int]:
        """Return the proof and the bound it shows."""
        entries = 1 + len(self.model.matrix.columns) + self.model.column_count
        allowed = MOST_ENTRIES // entries if splits is None else splits
        self._relaxation = BoxedRelaxation(self.model, [column["objective"] for column in self.columns])
        ties = count()
        root: Tree = {"multipliers": {}}
        self._settle(root, self.model.lower, self.model.upper, {}, next(ties))
        for _ in range(allowed):
            settled = max([self.sign * self.value, *self._closed])
            if not self._open or -self._open[0][0] <= settled:
                break  # what is settled already bounds the proof: no split makes it better
            bound, _, leaf = heapq.heappop(self._open)
            if not self._split(leaf, ties):
                self._closed.append(-bound)
        bounds = [*self._closed, *(-bound for bound, _, _ in self._open)]
        return root, self.sign * max(bounds)

    def _split(self, leaf: _Leaf, ties: count[int]) -> bool:
        """Replace a leaf by two on its most fractional column; ``False`` if the relaxation has no fraction there."""
        distance = np.abs(leaf.values - np.rint(leaf.values))
        column = int(distance.argmax())
        if distance[column] <= _FRACTION:
            return False
        at = int(np.floor(leaf.values[column]))
        multipliers = leaf.node.pop("multipliers")
        leaf.node.update(column=column, at=at, below={}, above={})
        high, low = leaf.upper.copy(), leaf.lower.copy()
        high[column], low[column] = at, at + 1
        self._settle(leaf.node["below"], leaf.lower, high, multipliers, next(ties))
        self._settle(leaf.node["above"], low, leaf.upper, multipliers, next(ties))
        return True

    def _settle(self, node: Tree, low: Ints, high: Ints, inherited: dict[str, int], tie: int) -> None:
        """Write multipliers into a new leaf: those of its relaxation, or its parent's, which hold in it too."""
        box = list(zip(low.tolist(), high.tolist(), strict=True))
        found = self._relaxation.solve(low, high)
        multipliers, bound = inherited, self._bound(inherited, box)
        for candidate in [] if found is None else self._candidates(found):
            own = self._bound(candidate, box)
            if own < bound:
                multipliers, bound = candidate, own
            if bound <= self.sign * self.value:
                break
        node["multipliers"] = multipliers
        if found is None or found.values is None:
            self._closed.append(bound)
        else:
            heapq.heappush(self._open, (-bound, tie, _Leaf(node=node, lower=low, upper=high, values=found.values)))

    def _candidates(self, found: BoxedOptimum) -> list[dict[str, int]]:
        """Return multipliers to try: the optimum's, or a ray's at growing lengths in both directions."""
        if found.values is not None:
            return [self._whole(self.sign * found.multipliers)]
        return [self._whole(turn * length * found.multipliers) for turn in (1, -1) for length in _RAY_LENGTHS]

    def _whole(self, multipliers: NDArray[np.float64]) -> dict[str, int]:
        """Return multipliers as whole numbers with the signs that their rows allow, zeros left out."""
        kept = {}
        for position, (row, number) in enumerate(zip(self.rows, multipliers.tolist(), strict=True)):
            whole = round(number * DENOMINATOR)
            if row["sense"] == "<=":
                whole = max(whole, 0)
            elif row["sense"] == ">=":
                whole = min(whole, 0)
            if whole:
                kept[str(position)] = whole
        return kept

    def _bound(self, multipliers: dict[str, int], box: list[tuple[int, int]]) -> int:
        return kernel.dual_bound(multipliers, self.sign, self.columns, self.rows, box, DENOMINATOR)
