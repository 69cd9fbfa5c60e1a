"""Columns and rows of the chapter *sharing* where shares have places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muri_opt.modelling import Ints, Model, ModelBuilder, RowSense, Values
from muri_opt.rounds import Round
from muri_opt.rounds.amounts import UNLIMITED
from muri_opt.rounds.memoise import last_recalled
from muri_opt.systems.afs.program_classes import ClassColumns
from muri_opt.systems.afs.program_places import PlacedJob, PlacedTable
from muri_opt.systems.afs.share_fit import Shares

FAMILIES = ("x", "y", "b", "z", "w", "h")
Index = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacedColumns:
    """The columns of a round's program by family, each with its subscripts; ``upper`` are the bounds of y."""

    table: PlacedTable
    index: dict[str, list[Index]]
    upper: Ints

    @classmethod
    def of(cls, table: PlacedTable) -> PlacedColumns:
        """Return the columns of all shares and places."""
        return _columns(table)

    @classmethod
    def listed(cls, table: PlacedTable) -> PlacedColumns:
        """Return the columns, listed now."""
        index: dict[str, list[Index]] = {family: [] for family in FAMILIES}
        room = table.places.room
        for one in table.jobs:
            job = one.job
            if one.home is not None:
                index["h"].append((job,))
            index["z" if one.split else "x"] += [(job, *share) for share in one.shares]
            if one.split:
                parts = sorted({(d, each) for d, _, each in one.shares})
                index["w"] += [(job, s, p) for d, p in parts for s in one.sets[d].tolist() if room[job, s] >= p]
            else:
                used = sorted({share[0] for share in one.shares})
                on = [(job, s) for d in used for s in one.sets[d].tolist() if room[job, s]]
                index["y"] += on
                index["b"] += on if one.counted else []
        upper = np.array([room[at] for at in index["y"]], dtype=np.int64)
        return cls(table=table, index=index, upper=upper)

    @cached_property
    def start(self) -> dict[str, int]:
        """Where each family begins among all columns."""
        before = np.cumsum([0, *(len(self.index[family]) for family in FAMILIES)])
        return dict(zip(FAMILIES, before.tolist(), strict=False))

    @cached_property
    def place(self) -> dict[str, dict[Index, int]]:
        """The position among all columns of each subscript of each family."""
        return {
            family: {at: self.start[family] + place for place, at in enumerate(found)}
            for family, found in self.index.items()
        }

    def of_family(self, family: str) -> Ints:
        """Return the positions of a family's columns."""
        return self.start[family] + np.arange(len(self.index[family]))

    @cached_property
    def owner(self) -> Ints:
        """The job of each column."""
        return np.array([at[0] for family in FAMILIES for at in self.index[family]], dtype=np.int64)

    @cached_property
    def gpus(self) -> Ints:
        """The GPUs that each column gives its job: those of x, z and h."""
        jobs = self.table.jobs
        found = np.zeros(len(self.owner), dtype=np.int64)
        found[self.of_family("x")] = [at[2] for at in self.index["x"]]
        found[self.of_family("z")] = [at[2] * at[3] for at in self.index["z"]]
        found[self.of_family("h")] = [_gpus(jobs[at[0]]) for at in self.index["h"]]
        return found

    @cached_property
    def value(self) -> Ints:
        """What each column is worth: those of x, z and h are the shares."""
        jobs = self.table.jobs
        shares = zip(self.owner.tolist(), self.gpus.tolist(), strict=True)
        worth = np.array([jobs[job].values.get(gpus, 0) for job, gpus in shares], dtype=np.int64)
        worth[self.of_family("h")] = [jobs[at[0]].at_home for at in self.index["h"]]
        return worth

    def written(self, shares: Shares) -> Ints:
        """Return the values of the columns for GPUs per node; what no column says is left out."""
        values, places = np.zeros(len(self.owner), dtype=np.int64), self.table.places
        for job, share in shares.items():
            one, gpus = self.table.jobs[job], int(share.sum())
            if one.home is not None and np.array_equal(one.home, share):
                values[self.place["h"][job,]] = 1
                continue
            amount = places.of_places(share)
            used = np.flatnonzero(amount)
            mine = next((d for d, some in enumerate(one.sets) if np.isin(used, some).all()), None)
            if mine is None:
                continue
            parts: list[tuple[str, Index, int]] = []
            if one.split:
                each = int(amount[used[0]])
                parts = [("z", (job, mine, len(used), each), 1), *(("w", (job, s, each), 1) for s in used.tolist())]
            else:
                parts = [("x", (job, mine, gpus), 1), *(("y", (job, s), int(amount[s])) for s in used.tolist())]
                parts += [("b", (job, s), 1) for s in used.tolist()] if one.counted else []
            for family, at, number in parts:
                if at in self.place[family]:
                    values[self.place[family][at]] = number
        return values

    def read(self, values: Values) -> tuple[Shares, Shares]:
        """Return GPUs per place of the jobs that have a share elsewhere, and per node of those that keep theirs."""
        whole = np.rint(values).astype(np.int64)
        amounts, homes = Shares(), Shares()
        for family in ("y", "w"):
            for column in self._used(family, whole):
                job, s, *parts = self.index[family][column - self.start[family]]
                amount = amounts.setdefault(job, np.zeros(len(self.table.places.G), dtype=np.int64))
                amount[s] += parts[0] if parts else whole[column]
        for column in self._used("h", whole):
            job = self.index["h"][column - self.start["h"]][0]
            home = self.table.jobs[job].home
            if home is not None:
                homes[job] = home
        return amounts, homes

    def _used(self, family: str, values: Ints) -> list[int]:
        """Return the columns of a family that are not 0."""
        these = self.of_family(family)
        found: list[int] = these[values[these] > 0].tolist()
        return found


_columns = last_recalled(PlacedColumns.listed)


def placed_model(round_: Round, columns: PlacedColumns, classes: ClassColumns) -> Model:
    """Return the program of the columns; its objective is that of the first class."""
    builder = ModelBuilder("sharing")
    for family in FAMILIES:
        if columns.index[family]:
            upper = columns.upper if family == "y" else 1
            builder.add_columns(family, np.array(columns.index[family], dtype=np.int64), upper=upper)
    rows = _Rows(round_, columns, builder)
    rows.shares()
    rows.capacity()
    rows.quotas()
    rows.counts()
    rows.parts()
    classes.add(builder)
    objective = classes.objective(0) if classes.classes else columns.value
    shares = np.flatnonzero(objective)
    return builder.finish(maximise=True, columns=shares, coefficients=objective[shares])


class _Rows:
    """The rows of the program, family by family."""

    def __init__(self, round_: Round, columns: PlacedColumns, builder: ModelBuilder) -> None:
        self._round, self._columns, self._builder = round_, columns, builder
        self._jobs, self._places = columns.table.jobs, columns.table.places

    def shares(self) -> None:
        """At most one share of each job, and as many GPUs on the places of a set as its share inside it has."""
        columns = self._columns
        taken = np.concatenate([columns.of_family(family) for family in ("x", "z", "h")])
        jobs = np.arange(len(self._jobs))
        self._add("once", jobs, [(columns.owner[taken], taken, np.ones_like(taken))], "<=", 1)
        entries, index = list[Index](), dict[Index, int]()
        for at, column in columns.place["x"].items():
            row = index.setdefault(at[:2], len(index))
            entries.append((row, column, -at[2]))
        for one in self._jobs if index else ():
            for d, some in enumerate(one.sets):
                on = [(one.job, s) for s in some.tolist() if (one.job, d) in index]
                entries += [(index[one.job, d], columns.place["y"][at], 1) for at in on if at in columns.place["y"]]
        if index:
            self._add("inside", list(index), [_triplets(entries)], "=", 0)

    def capacity(self) -> None:
        """GPUs, CPUs and memory of the places."""
        columns, places, amounts = self._columns, self._places, self._round.amounts
        found = [(s, place, 1, owner) for (owner, s), place in columns.place["y"].items()]
        found += [(s, place, part, owner) for (owner, s, part), place in columns.place["w"].items()]
        for (owner,), place in columns.place["h"].items():
            home = self._jobs[owner].home
            held = [] if home is None else places.of_places(home).tolist()
            found += [(s, place, count, owner) for s, count in enumerate(held) if count]
        at, column, gpus, job = np.array(found, dtype=np.int64).reshape(-1, 4).T
        self._add("gpus", np.arange(len(places.G)), [(at, column, gpus)], "<=", places.G)
        for label, need, has in (("cpus", amounts.c, places.C), ("memory", amounts.m, places.M)):
            bound = np.flatnonzero(has < UNLIMITED)
            here = np.isin(at, bound)
            entries = (np.searchsorted(bound, at[here]), column[here], gpus[here] * need[job[here]])
            self._add(label, bound, [entries], "<=", has[bound])

    def quotas(self) -> None:
        """GPUs of a tenant and of all below it."""
        columns, amounts = self._columns, self._round.amounts
        limited = np.flatnonzero(amounts.U < UNLIMITED)
        lines = [amounts.line(tenant) for tenant in amounts.tenant.tolist()]
        taken = np.flatnonzero(columns.gpus).tolist()
        found = [(t, c) for c in taken for t in lines[columns.owner[c]] if amounts.U[t] < UNLIMITED]
        tenant, column = np.array(found, dtype=np.int64).reshape(-1, 2).T
        entries = (np.searchsorted(limited, tenant), column, columns.gpus[column])
        self._add("quota", limited, [entries], "<=", amounts.U[limited])

    def counts(self) -> None:
        """The number of places that a job uses."""
        columns = self._columns
        used = columns.index["b"]
        if not used:
            return
        b = columns.of_family("b")
        y = np.array([columns.place["y"][at] for at in used], dtype=np.int64)
        rows, ones = np.arange(len(b)), np.ones_like(b)
        room = np.array([self._places.room[at] for at in used], dtype=np.int64)
        self._add("link", used, [(rows, y, ones), (rows, b, -room)], "<=", 0)
        owner = columns.owner[b]
        few = [one for one in self._jobs if one.counted and one.most is not None and one.shares]
        jobs = np.array([one.job for one in few], dtype=np.int64)
        some = np.isin(owner, jobs)
        if len(jobs):
            most = [one.most or 0 for one in few]
            self._add("few", jobs, [(np.searchsorted(jobs, owner[some]), b[some], ones[some])], "<=", most)
        wide = [one for one in self._jobs if one.counted and one.least > 1 and one.shares]
        jobs = np.array([one.job for one in wide], dtype=np.int64)
        some = np.isin(owner, jobs)
        if len(jobs):
            place = [used[at] for at in np.flatnonzero(some)]
            rows = np.arange(len(place))
            self._add("uses", place, [(rows, b[some], ones[some]), (rows, y[some], -ones[some])], "<=", 0)
            x = columns.of_family("x")[np.isin(columns.owner[columns.of_family("x")], jobs)]
            row = np.searchsorted(jobs, columns.owner[x])
            least = -np.array([one.least for one in wide], dtype=np.int64)[row]
            counted = (np.searchsorted(jobs, owner[some]), b[some], ones[some])
            self._add("least", jobs, [counted, (row, x, least)], ">=", 0)

    def parts(self) -> None:
        """As many equal parts on the places of a set as the share inside it has."""
        columns = self._columns
        index, entries = dict[Index, int](), list[Index]()
        for (job, d, number, each), column in columns.place["z"].items():
            row = index.setdefault((job, d, each), len(index))
            entries.append((row, column, -number))
        for job, d, each in index:
            on = [(job, s, each) for s in self._jobs[job].sets[d].tolist()]
            row = index[job, d, each]
            entries += [(row, columns.place["w"][at], 1) for at in on if at in columns.place["w"]]
        if index:
            self._add("parts", list(index), [_triplets(entries)], "=", 0)

    def _add(
        self,
        label: str,
        index: Ints | Sequence[Index],
        parts: Sequence[tuple[Ints, Ints, Ints]],
        sense: RowSense,
        rhs: Ints | Sequence[int] | int,
    ) -> None:
        row, column, number = (np.concatenate(each) for each in zip(*parts, strict=True))
        self._builder.add_rows(label, np.asarray(index), entries=(row, column, number), sense=sense, rhs=rhs)


def _triplets(entries: Sequence[Index]) -> tuple[Ints, Ints, Ints]:
    row, column, number = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return row, column, number


def _gpus(job: PlacedJob) -> int:
    return 0 if job.home is None else int(job.home.sum())
