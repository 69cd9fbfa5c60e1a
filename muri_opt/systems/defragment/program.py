"""The program of chapter `defragmentation`: how many jobs of each type leave and enter each node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from muri_opt.modelling import Model, ModelBuilder, RowSense
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.defragment.goal import Goal
from muri_opt.systems.defragment.running_jobs import Start

Terms = list[tuple[int, int]]
Row = tuple[tuple[int, ...], Terms, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """The model and where its columns are: tables of positions, -1 where there is no column.

    ``d[t, s]`` jobs of type t leave node s and ``a[t, s]`` enter it; ``x[i]``, ``v[i, s]`` and ``w[i, s]`` say of the
    i-th spread job whether it moves, how many GPUs it then has on node s, and whether any. ``y[s]`` chooses a node:
    to be emptied, or to hold ``p[s]`` GPUs of the waiting job. ``m[i, k]`` says whether the i-th spread job moves to
    its k-th set of nodes, and ``q[k]`` whether the waiting job is in its k-th, where there are several.
    """

    model: Model
    d: Ints
    a: Ints
    x: Ints
    v: Ints
    w: Ints
    y: Ints
    p: Ints
    m: Ints
    q: Ints


def build_program(start: Start, goal: Goal) -> Program:
    """Return the program of a start and a goal."""
    return _Builder(start, goal).program()


class _Builder:
    def __init__(self, start: Start, goal: Goal) -> None:
        self.start, self.goal = start, goal
        self.builder = ModelBuilder("defragmentation")
        nodes, spread = range(len(start.room)), range(len(start.spread))
        total = start.count.sum(axis=1)
        fits = np.array(
            [
                _whole_fits(start, size, most) * start.type_may(t)
                for t, (size, most) in enumerate(zip(start.types, total, strict=True))
            ]
        )
        self.enters: Ints = fits.reshape(len(total), len(start.room)).astype(np.int64)
        self.holds: Ints = np.array([start.fits(j, start.room) for j in start.spread], dtype=np.int64)
        self.holds = self.holds.reshape(len(spread), len(nodes))
        self.d = self._columns("d", start.count > 0, start.count)
        self.a = self._columns("a", self.enters > 0, self.enters)
        self.x = self._columns("x", np.ones(len(spread), dtype=np.bool_), np.ones(len(spread), dtype=np.int64))
        self.v = self._columns("v", self.holds > 0, self.holds)
        self.w = self._columns("w", self.holds > 0, np.ones_like(self.holds))
        self.y = self._columns("y", goal.able, np.ones_like(goal.most))
        self.p = self._columns("p", goal.able & (goal.most > 0), goal.most)
        self.parts = [start.parts(j) for j in start.spread]
        self.guest = [] if goal.job is None else start.parts(goal.job)
        several = max([0, *(len(parts) for parts in self.parts if len(parts) > 1)])
        apart = np.array([[len(parts) > max(1, k) for k in range(several)] for parts in self.parts], dtype=np.bool_)
        apart = apart.reshape(len(spread), several)
        self.m = self._columns("m", apart, np.ones_like(apart, dtype=np.int64))
        asked = np.full(len(self.guest) if len(self.guest) > 1 else 0, fill_value=True)
        self.q = self._columns("q", asked, np.ones_like(asked, dtype=np.int64))

    def _columns(self, label: str, wanted: NDArray[np.bool_], upper: Ints) -> Ints:
        table: Ints = np.full(wanted.shape, -1, dtype=np.int64)
        table[wanted] = self.builder.add_columns(label, np.argwhere(wanted), upper=upper[wanted])
        return table

    def _rows(self, label: str, rows: Sequence[Row], sense: RowSense) -> None:
        """Add a family from subscripts, terms (column, coefficient) and right sides; a column of -1 is none."""
        entries = [
            (row, column, factor)
            for row, (_, terms, _) in enumerate(rows)
            for column, factor in terms
            if column >= 0 and factor
        ]
        parts: Ints = np.array(entries, dtype=np.int64).reshape(len(entries), 3)
        index = [subscripts for subscripts, _, _ in rows]
        self.builder.add_rows(
            label,
            np.array(index, dtype=np.int64).reshape(len(rows), len(index[0]) if index else 1),
            entries=(parts[:, 0], parts[:, 1], parts[:, 2]),
            sense=sense,
            rhs=np.array([side for _, _, side in rows], dtype=np.int64),
        )

    def program(self) -> Program:
        """Return the finished program."""
        self._balance_rows()
        self._emptied_rows()
        self._spread_rows()
        self._goal_rows()
        self._set_rows()
        start = self.start
        left = np.argwhere(self.d >= 0)
        model = self.builder.finish(
            maximise=False,
            columns=np.concatenate([self.d[self.d >= 0], self.x]),
            coefficients=np.concatenate(
                [start.types[left[:, 0], 0] * start.weight + 1, start.size[list(start.spread), 0] * start.weight + 1]
            ),
        )
        tables = {"d": self.d, "a": self.a, "x": self.x, "v": self.v, "w": self.w, "y": self.y, "p": self.p}
        return Program(model=model, **tables, m=self.m, q=self.q)

    def _balance_rows(self) -> None:
        """Add what keeps jobs and capacities in order."""
        jobs: list[Row] = [
            ((t,), [*((column, 1) for column in self.a[t].tolist()), *((c, -1) for c in self.d[t].tolist())], 0)
            for t in range(len(self.d))
        ]
        self._rows("jobs", jobs, "=")
        nodes = range(len(self.y))
        self._rows("gpus", [self._capacity(s, 0) for s in nodes], "<=")
        for resource, label in ((1, "cpus"), (2, "memory")):
            binding = [s for s in nodes if self.start.may_bind(s, resource, self.goal.job)]
            self._rows(label, [_reduced(self._capacity(s, resource)) for s in binding], "<=")

    def _emptied_rows(self) -> None:
        """Add what makes a chosen node empty, if that is the goal."""
        y = self.y if self.goal.job is None else np.full_like(self.y, -1)
        count, enters, held = self.start.count, self.enters, [self.start.held[j] for j in self.start.spread]
        leaving, entering = (np.argwhere((table >= 0) & (y >= 0)).tolist() for table in (self.d, self.a))
        leave: list[Row] = [((t, s), [(self.d[t, s], 1), (y[s], -int(count[t, s]))], 0) for t, s in leaving]
        self._rows("leave", leave, ">=")
        enter: list[Row] = [
            ((t, s), [(self.a[t, s], 1), (y[s], int(enters[t, s]))], int(enters[t, s])) for t, s in entering
        ]
        self._rows("enter", enter, "<=")
        parts = [(i, s) for i, share in enumerate(held) for s in share if y[s] >= 0]
        self._rows("release", [((i, s), [(self.x[i], 1), (y[s], -1)], 0) for i, s in parts], ">=")

    def _spread_rows(self) -> None:
        """Add what keeps moved spread jobs whole and on few nodes."""
        start = self.start
        size, nodes = start.size[list(start.spread), 0].tolist(), [len(start.held[j]) for j in start.spread]
        whole = [[(column, 1) for column in columns] for columns in self.v.tolist()]
        self._rows("gang", [((i,), [*terms, (self.x[i], -size[i])], 0) for i, terms in enumerate(whole)], "=")
        link: list[Row] = [
            ((i, s), [(self.v[i, s], 1), (self.w[i, s], -int(self.holds[i, s]))], 0)
            for i, s in np.argwhere(self.v >= 0).tolist()
        ]
        self._rows("link", link, "<=")
        used = [[(column, 1) for column in columns] for columns in self.w.tolist()]
        self._rows("few", [((i,), [*terms, (self.x[i], -nodes[i])], 0) for i, terms in enumerate(used)], "<=")

    def _set_rows(self) -> None:
        """Add what keeps moved spread jobs and the waiting job inside one of their sets of nodes."""
        size = self.start.size[list(self.start.spread), 0].tolist()
        inside: list[Row] = [
            ((i, k), [*((int(c), 1) for c in self.v[i, self.parts[i][k]]), (int(self.m[i, k]), -size[i])], 0)
            for i, k in np.argwhere(self.m >= 0).tolist()
        ]
        if inside:
            self._rows("set", inside, "=")
        asked = 0 if self.goal.job is None else int(self.start.size[self.goal.job, 0])
        hosts: list[Row] = [
            ((k,), [*((int(c), 1) for c in self.p[self.guest[k]]), (int(column), -asked)], 0)
            for k, column in enumerate(self.q.tolist())
        ]
        if hosts:
            self._rows("inside", hosts, "=")

    def _goal_rows(self) -> None:
        """Add how many nodes are chosen, what they hold of the waiting job, and which of equal nodes come first."""
        goal, job = self.goal, self.goal.job
        self._rows("chosen", [((), [(c, 1) for c in self.y.tolist()], goal.chosen)], ">=" if job is None else "<=")
        asked = 0 if job is None else int(self.start.size[job, 0])
        self._rows("waiting", [] if job is None else [((), [(c, 1) for c in self.p.tolist()], asked)], "=")
        hosts = np.flatnonzero(self.p >= 0).tolist()
        self._rows("host", [((s,), [(self.p[s], 1), (self.y[s], -int(goal.most[s]))], 0) for s in hosts], "<=")
        order: list[Row] = [
            ((later,), [(self.y[earlier], 1), (self.y[later], -1)], 0)
            for nodes in self.start.kinds()
            for earlier, later in pairwise(nodes)
            if self.y[earlier] >= 0
        ]
        self._rows("order", order, ">=")

    def _capacity(self, s: int, resource: int) -> Row:
        """Return what enters and leaves node s of a resource, and how much of it may enter on balance."""
        start, job = self.start, self.goal.job
        terms: Terms = []
        for t, amount in enumerate(start.types[:, resource].tolist()):
            terms += [(self.a[t, s], amount), (self.d[t, s], -amount)]
        for i, j in enumerate(start.spread):
            amount = int(start.unit[j, resource])
            terms += [(self.v[i, s], amount), (self.x[i], -amount * start.held[j].get(s, 0))]
        if job is not None:
            terms.append((self.p[s], int(start.unit[job, resource])))
        elif resource == 0:
            terms.append((self.y[s], int(start.room[s, 0])))
        return (s,), [(int(c), amount) for c, amount in terms if c >= 0 and amount], int(start.free[s, resource])


def _whole_fits(start: Start, size: Ints, most: int) -> Ints:
    """Return how many jobs of a size fit on each node beside its pinned jobs, at most ``most``."""
    fits: Ints = np.full(len(start.room), most, dtype=np.int64)
    for resource in np.flatnonzero(size).tolist():
        fits = np.minimum(fits, start.room[:, resource] // size[resource])
    return fits


def _reduced(row: Row) -> Row:
    """Return a row divided by what all its coefficients have in common: solvers like small numbers."""
    index, terms, side = row
    factor = math.gcd(*(amount for _, amount in terms)) or 1
    return index, [(column, amount // factor) for column, amount in terms], side // factor
