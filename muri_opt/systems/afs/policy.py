"""What every elastic policy does: shares by its rule, kept where a change does not pay, placed on the nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final

import numpy as np

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import INFORMATION, Decision, Round
from muri_opt.rounds.amounts import UNLIMITED, Ints
from muri_opt.rounds.field_groups import PLACES, SHAPES, STATES
from muri_opt.rounds.quantities import microseconds
from muri_opt.systems.afs.class_shares import ClassShares
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.decision import pooled_decision, share_decision
from muri_opt.systems.afs.demand import Demand
from muri_opt.systems.afs.event_clock import Rule
from muri_opt.systems.afs.kept_jobs import kept_jobs
from muri_opt.systems.afs.node_sizes import share_sizes
from muri_opt.systems.afs.present_shares import PresentShares
from muri_opt.systems.afs.restart_hysteresis import kept_shares
from muri_opt.systems.afs.set_choice import Limit
from muri_opt.systems.afs.shape_checks import check_packing, check_shapes
from muri_opt.systems.afs.share_fit import ShareFit, counts_gpus_only, homes_of
from muri_opt.systems.afs.share_values import BY_ATTAINED, OBJECTIVES, ShareValues
from muri_opt.systems.afs.still_shares import still_parts, still_shares
from muri_opt.systems.afs.worth_rule import worth_shares
from muri_opt.systems.capacity import place_parts
from muri_opt.systems.capacity.fewer_nodes import with_fewer_nodes
from muri_opt.systems.capacity.held_parts import Parts
from muri_opt.systems.capacity.set_apart import SetApart, set_apart
from muri_opt.systems.capacity.shares import parts_as_held
from muri_opt.systems.capacity.starts_apart import with_starts_apart
from muri_opt.systems.curves import NEVER, Curves, check_curves
from muri_opt.systems.policy import Allowed, Policy, Rules, Span

MOST_LOOKED_AT: Final = 20_000
"""Pairs of a job and a node up to which shares that find no room as decided are decided until they stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticPolicy(Policy):
    """A rule that says how many GPUs each job gets.

    ``packing`` is ``any``, or ``node`` for shares that divide a node or fill nodes, so that no two jobs of a node talk
    across the network. ``restarts`` is ``pay``, to keep the share of a running job where a change would not pay its
    ``restart_seconds`` over a ``horizon`` of so many seconds, or ``ignore``. ``objective`` says what the value counts
    and the exact program of the same round (chapter *sharing*) maximises: the ``speed`` of all jobs, short ones
    weighing more, their plain ``speed-up``, either of them after the number of jobs that run (``jobs-then-speed``,
    ``jobs-then-speed-up``), the ``time`` the shares save if they stay, or what their work is worth for ``completion``
    times; by the last ``afs-l`` and ``afs-p`` also give their GPUs.

    >>> policy_from("afs-l:packing=node").packing
    'node'
    """

    packing: str = "any"
    restarts: str = "pay"
    objective: str = "jobs-then-speed"
    horizon: str = "600"

    choices: ClassVar[Mapping[str, Allowed]] = {
        "packing": ("any", "node"),
        "restarts": ("pay", "ignore"),
        "objective": OBJECTIVES,
        "horizon": Span(0.001, 2_000_000_000),
    }
    chapter: ClassVar[str] = "sharing"
    honours: ClassVar[frozenset[str]] = INFORMATION | PLACES | SHAPES | STATES | {"job.priority", "tenant.parent"}
    own_name: ClassVar[str]
    knows_lengths: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.name != self.own_name:
            raise unknown_name("policy", self.name, [self.own_name])
        Policy.__post_init__(self)

    @property
    def needs(self) -> tuple[str, ...]:
        """A scaling table, and the length where the rule knows it, or what stands for it."""
        if self.knows_lengths:
            return ("scaling", "remaining_iterations")
        return ("scaling", "attained_gpu_seconds") if self.objective == "completion" else ("scaling",)

    @property
    def rules(self) -> Rules:
        """What shares are worth, whether they must divide or fill nodes, and what restarts cost where they count."""
        said = {"chapter": self.chapter, "objective": self._counted, "packing": self.packing}
        return said if self._horizon is None else said | {"restarts": self.restarts, "horizon": self.horizon}

    @property
    def _counted(self) -> str:
        """The objective as the rules name it: jobs of unknown length are ranked by the service they have had."""
        return BY_ATTAINED if self.objective == "completion" and not self.knows_lengths else self.objective

    @property
    def _horizon(self) -> int | None:
        return microseconds(float(self.horizon)) if self.restarts == "pay" else None

    @abstractmethod
    def shares(self, round_: Round, demand: Demand, gpus: int, seed: int) -> Ints:
        """Return the share of each job of the demand, within ``gpus`` in all and the cap of each."""

    def clock_rule(self, rules: ClockRules) -> Rule | None:
        """Return the rule as the clock of AFS asks it; ``None`` where shares hang on more than the work left."""
        return None

    def check(self, round_: Round) -> None:
        """Refuse a job without a scaling table, or of unknown length where the rule needs it; name it."""
        self._check_jobs(round_)
        Curves.of(round_.jobs, round_.cluster.total_gpus)
        share_sizes(round_.cluster, self.packing)
        check_shapes(round_, self.name, by_node=self.packing == "node")
        apart = self.set_apart(round_)
        if apart is not None and self.packing == "node":
            check_packing(apart.rest)

    def check_alone(self, alone: Round) -> None:
        """Refuse the same of one job, whatever nodes there are."""
        self._check_jobs(alone)
        check_curves(alone.jobs)
        check_shapes(alone, self.name, by_node=self.packing == "node")
        if any(job.stays for job in alone.jobs):
            self.set_apart(alone)

    def _check_jobs(self, round_: Round) -> None:
        timed, served = self.knows_lengths, self._counted == BY_ATTAINED
        for position, job in enumerate(round_.jobs):
            if job.gpus < 1:
                where = f"jobs[{position}] ({job.id!r}).gpus"
                raise InputError(where, "0", "at least 1: CPUs and memory are counted per GPU")
            if timed and job.remaining_iterations is None:
                where = f"jobs[{position}] ({job.id!r}).remaining_iterations"
                allowed = f"a number: {self.name!r} needs to know how long a job is; 'afs-p' does not"
                raise InputError(where, "nothing", allowed)
            if served and job.attained_gpu_seconds is None:
                where = f"jobs[{position}] ({job.id!r}).attained_gpu_seconds"
                raise InputError(where, "nothing", f"a number: {self.spec!r} ranks jobs by the service they have had")

    def set_apart(self, round_: Round) -> SetApart | None:
        """Return the round in two parts where some of it is not to be decided."""
        return set_apart(round_, kept_jobs, sharing=False)

    def decide(self, round_: Round, seed: int) -> Decision:
        """Return the decision: shares from nothing by the rule, within quotas, changes that do not pay left out."""
        self.check_honoured(round_)
        self.check(round_)
        apart = self.set_apart(round_)
        if apart is not None:
            return self.joined(apart, self._beside_starts(apart, self.decide(apart.rest, seed), seed))
        total = round_.cluster.total_gpus
        curves, sizes = Curves.of(round_.jobs, total), share_sizes(round_.cluster, self.packing)
        demand = Demand(
            jobs=np.arange(len(round_.jobs)),
            speed=curves.speed,
            cap=curves.cap,
            time=self._times(round_, curves),
            ladder=sizes.tolist() if self.packing == "node" and len(sizes) else None,
        )
        if not counts_gpus_only(round_):
            placed = still_shares(round_, lambda then: self._class_shares(then, demand, sizes, seed).placed())
            return share_decision(round_, curves, placed)
        parts, whole = self._pooled(round_, demand, sizes, seed)
        if not whole and len(round_.jobs) * len(round_.cluster.nodes) <= MOST_LOOKED_AT:
            parts = still_parts(round_, lambda then: self._pooled(then, demand, sizes, seed)[0])
        return pooled_decision(round_, curves, parts)

    def _beside_starts(self, apart: SetApart, first: Decision, seed: int) -> Decision:
        """Return a decision of the rest, or what is decided once those that start by it are set apart, if better."""
        rest = apart.rest
        if self._horizon is None or len(rest.jobs) * len(rest.cluster.nodes) > MOST_LOOKED_AT:
            return first

        def decide(then: Round) -> Decision:
            again = self.set_apart(then)
            return self.decide(then, seed) if again is None else again.joined(self.decide(again.rest, seed))

        better = with_starts_apart(apart, first, decide, partial(self._worth, rest))
        return first if better is first else self.explained(rest, better)

    def _worth(self, round_: Round, decision: Decision) -> int:
        """Return what the shares of a decision are worth, those charged that are changed."""
        values = ShareValues.of(round_, self._counted, self.packing, self._horizon)
        job_at, node_at = round_.job_index, round_.cluster.node_index
        placed = {
            job_at[one.jobs[0]]: [(node_at[node], gpus) for node, gpus in one.gpus.items()]
            for one in decision.assignments
        }
        return values.of_placed(PresentShares.of(round_), placed)

    def explained(self, round_: Round, decision: Decision) -> Decision:
        """Return a decision with the reasons for which others wait beside its shares."""
        index, nodes = round_.job_index, round_.cluster.node_index
        curves, shares = Curves.of(round_.jobs, round_.cluster.total_gpus), dict[int, Ints]()
        for one in decision.assignments:
            share = shares[index[one.jobs[0]]] = np.zeros(len(nodes), dtype=np.int64)
            for node, gpus in one.gpus.items():
                share[nodes[node]] = gpus
        return Decision(assignments=decision.assignments, waiting=share_decision(round_, curves, shares).waiting)

    def _times(self, round_: Round, curves: Curves) -> Ints:
        """Return how long each job takes with each number of GPUs; forever where the rule does not know."""
        if not self.knows_lengths:
            return np.broadcast_to(np.int64(NEVER), curves.speed.shape)
        return curves.microseconds([job.remaining_iterations or 0 for job in round_.jobs])

    def _pooled(self, round_: Round, demand: Demand, sizes: Ints, seed: int) -> tuple[dict[int, Parts], bool]:
        """Return GPUs of nodes by job where GPUs are counted together, and whether each share found room as decided."""
        within = replace(demand, cap=self._within_quotas(round_, demand, seed))
        legal = np.append(0, sizes)
        wanted = self.shares(round_, within, round_.cluster.total_gpus, seed)
        shares = legal[np.searchsorted(legal, wanted, side="right") - 1]
        values = self._values(round_)
        if values is not None:
            shares = kept_shares(shares, _present(round_, within), values, _limits(round_))
        worth = None if values is None else partial(values.of_placed, PresentShares.of(round_))
        parts = place_parts(round_, shares, sizes, by_node=self.packing == "node", worth=worth)
        whole = all(sum(gpus for _, gpus in parts.get(job, ())) == share for job, share in enumerate(shares.tolist()))
        if self.packing == "any":
            parts = with_fewer_nodes(round_, parts)
        if values is not None and (PresentShares.of(round_).held <= demand.cap).all():
            parts = self._nobody_in_vain(round_, parts, values, sizes)
        return parts, whole

    def _nobody_in_vain(
        self, round_: Round, parts: dict[int, Parts], values: ShareValues, sizes: Ints
    ) -> dict[int, Parts]:
        """Return what is placed or, if nobody has more GPUs by it than now, all as they are, if that is worth more.

        A share that the rule lets grow may find no room, after another one was made smaller for it.
        """
        now = PresentShares.of(round_)
        if any(sum(gpus for _, gpus in mine) > now.held[job] for job, mine in parts.items()):
            return parts
        held = parts_as_held(round_, now.held, sizes, by_node=self.packing == "node")
        if held is None or values.of_placed(now, held) <= values.of_placed(now, parts):
            return parts
        return held

    def unchanged(self, round_: Round) -> Decision | None:
        """Return the decision in which all that runs goes on as it is, if it may; where restarts count."""
        if self._horizon is None or not PresentShares.of(round_).any:
            return None
        curves, sizes = Curves.of(round_.jobs, round_.cluster.total_gpus), share_sizes(round_.cluster, self.packing)
        by_node = self.packing == "node"
        if counts_gpus_only(round_):
            held = PresentShares.of(round_).held
            parts = parts_as_held(round_, held, sizes, by_node=by_node) if (held <= curves.cap).all() else None
            return None if parts is None else pooled_decision(round_, curves, parts)
        homes = homes_of(round_, ShareFit(round_, sizes, by_node=by_node), curves.cap)
        return None if homes is None else share_decision(round_, curves, homes)

    def unchanged_may_reach(self, round_: Round, value: int) -> bool:
        """Return whether all shares that are held now are worth so much together, where they are all that counts."""
        values = self._values(round_)
        if values is None or not counts_gpus_only(round_):
            return True
        held = PresentShares.of(round_).held
        runs = np.flatnonzero(held)
        if (held[runs] >= values.fresh.shape[1]).any():
            return True
        most: list[int] = values.fresh[runs, held[runs]].tolist()
        return sum(most) >= value

    def starting(self, round_: Round, gpus: int) -> Sequence[tuple[int, int]]:
        """Return who starts where no time is left: all that wait with equal shares, or the first with one GPU each."""
        jobs, curves = round_.jobs, Curves.of(round_.jobs, round_.cluster.total_gpus)
        waiting = [place for place, job in enumerate(jobs) if job.state == "waiting"]
        waiting.sort(key=lambda at: (-jobs[at].priority, jobs[at].submitted or 0.0, at))
        legal = np.append(0, share_sizes(round_.cluster, self.packing))
        wanted = np.minimum(curves.cap[waiting], max(1, gpus // max(1, len(waiting))))
        shares = legal[np.searchsorted(legal, wanted, side="right") - 1]
        return [(place, share) for place, share in zip(waiting, shares.tolist(), strict=True) if share]

    def _values(self, round_: Round) -> ShareValues | None:
        """Return what shares are worth, kept and changed; ``None`` where restarts count nothing."""
        if self._horizon is None:
            return None
        return ShareValues.of(round_, self._counted, self.packing, self._horizon)

    def worth_shares(self, round_: Round, demand: Demand, gpus: int) -> Ints:
        """Return the shares of a demand by what they are worth, restarts apart."""
        values = ShareValues.of(round_, self._counted, self.packing, None).fresh[demand.jobs]
        return worth_shares(values, demand.cap, gpus)

    def _class_shares(self, round_: Round, demand: Demand, sizes: Ints, seed: int) -> ClassShares:
        return ClassShares(
            round_=round_,
            demand=demand,
            fit=ShareFit(round_, sizes, by_node=self.packing == "node"),
            divide=lambda part, gpus: self.shares(round_, part, gpus, seed),
            values=self._values(round_),
        )

    def _within_quotas(self, round_: Round, demand: Demand, seed: int) -> Ints:
        """Return caps that keep every quota: what the rule gives each job of a tenant if the quota is all there is."""
        cap = demand.cap.copy()
        for tenant in np.flatnonzero(round_.amounts.U < UNLIMITED).tolist():
            members = np.flatnonzero(round_.amounts.tenant == tenant)
            quota = int(round_.amounts.U[tenant])
            if cap[members].sum() > quota:
                cap[members] = self.shares(round_, demand.of(members), quota, seed)
        return cap


def _present(round_: Round, demand: Demand) -> Ints:
    """Return the GPUs each running job holds now, 0 for one that waits or holds a share it may not have."""
    now = PresentShares.of(round_).held
    width = demand.speed.shape[1]
    legal = (now <= demand.cap) & (now < width)
    if demand.ladder is not None:
        legal &= np.isin(now, demand.ladder)
    return np.where(legal, now, 0)


def _limits(round_: Round) -> list[Limit]:
    """Return the GPUs that all jobs may have together, and those of each tenant with a quota."""
    amounts = round_.amounts
    limited = np.flatnonzero(amounts.U < UNLIMITED).tolist()
    quotas = [(np.flatnonzero(amounts.tenant == tenant), int(amounts.U[tenant])) for tenant in limited]
    return [(np.arange(len(round_.jobs)), round_.cluster.total_gpus), *quotas]
