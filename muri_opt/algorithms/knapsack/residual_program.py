"""What multipliers leave open, as a small program: options that cannot be in a better solution are gone.

Making a job take an option lowers the bound by the loss of the option; where that leaves no more than a known value,
no better solution has it. A job with a single candidate left is decided. Jobs with the same candidates left are one
kind, and the program counts how many of a kind take each option.

Fixing by reduced costs (Ingargiola and Korsh 1973) with the loss of an option as its reduced cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from muri_opt.algorithms.knapsack.candidates import Candidates, candidates
from muri_opt.algorithms.knapsack.multipliers import Priced
from muri_opt.algorithms.knapsack.options import Ints, Options
from muri_opt.modelling import Model, ModelBuilder


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rest:
    """The program of the open jobs, and how to read its answers.

    ``kinds[k]`` are the jobs of kind k; column i is its candidate ``places[i][0]`` for the first of them,
    ``places[i][1]`` for the second, and so on. ``start`` is the known choice as values of the program. ``worth`` is
    what the decided jobs add.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> multipliers = lagrangian(options)
    >>> len(rest_program(options, multipliers, feasible_choice(options, multipliers)).start)
    0
    """

    model: Model
    known: Candidates
    kind: Ints
    places: list[Ints]
    start: Ints
    worth: int

    def choice(self, values: Ints) -> Ints:
        """Return the option of each job, -1 where it waits, for values of the program."""
        now = self.known.now.copy()
        taken = np.zeros(int(self.kind.max(initial=-1)) + 1, dtype=np.int64)
        for column in np.flatnonzero(values).tolist():
            kind, count = int(self.kind[column]), int(values[column])
            mine = self.places[column][taken[kind] : taken[kind] + count]
            now[self.known.job[mine]] = mine
            taken[kind] += count
        return self.known.choice(now)


def rest_program(options: Options, priced: Priced, choice: Ints) -> Rest:
    """Return the program of all that could be worth more than ``choice``, which fits; ``choice`` itself is in it.

    >>> options = Options.of([0, 0, 1], [5, 7, 4], [[1], [2], [1]], [2], jobs=2)
    >>> multipliers = lagrangian(options)
    >>> rest_program(options, multipliers, feasible_choice(options, multipliers)).worth
    9
    """
    known = candidates(options, priced, choice, priced.gap(options.worth(choice)))
    order = np.lexsort((known.option, known.job))
    starts = np.flatnonzero(np.diff(known.job[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    table = np.column_stack([known.value, known.use])[order]
    alike: dict[bytes, list[Ints]] = {}
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        alike.setdefault(table[start : start + size].tobytes(), []).append(order[start : start + size])
    grouped = [np.array(jobs) for jobs in alike.values()]
    places = [column for jobs in grouped for column in jobs.T]
    kind = np.repeat(np.arange(len(grouped)), [jobs.shape[1] for jobs in grouped]).astype(np.int64)
    first = np.array([column[0] for column in places], dtype=np.int64)
    decided = np.ones(options.jobs, dtype=np.bool_)
    for jobs in grouped:
        decided[known.job[jobs[:, 0]]] = False
    settled = known.now[decided]
    counts = np.array([len(jobs) for jobs in grouped], dtype=np.int64)
    builder = ModelBuilder("rest")
    x = builder.add_columns("x", np.arange(len(first)), upper=counts[kind])
    builder.add_rows("one", np.arange(len(grouped)), entries=(kind, x, 1), sense="=", rhs=counts)
    resources = len(options.capacity)
    row = np.repeat(np.arange(resources), len(x))
    builder.add_rows(
        "capacity",
        np.arange(resources),
        entries=(row, np.tile(x, resources), known.use[first].T.ravel()),
        sense="<=",
        rhs=options.capacity - known.use[settled].sum(axis=0),
    )
    return Rest(
        model=builder.finish(maximise=True, columns=x, coefficients=known.value[first]),
        known=known,
        kind=kind,
        places=places,
        start=np.array([(known.now[known.job[column]] == column).sum() for column in places], dtype=np.int64),
        worth=sum(known.value[settled].tolist()),
    )
