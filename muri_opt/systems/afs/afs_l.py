"""Policy ``afs-l``: one GPU at a time to the job the pair rule prefers, lengths known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from muri_opt.rounds import Round
from muri_opt.rounds.amounts import Ints
from muri_opt.systems.afs.clock_rules import ClockRules
from muri_opt.systems.afs.demand import Demand
from muri_opt.systems.afs.event_clock import Rule
from muri_opt.systems.afs.greedy import afs_shares
from muri_opt.systems.afs.pair_rule import TIES
from muri_opt.systems.afs.policy import ElasticPolicy
from muri_opt.systems.afs.scan_orders import SCANS, scan_order
from muri_opt.systems.policy import Allowed, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class AfsPolicy(ElasticPolicy):
    """AFS with known lengths.

    ``scan`` is the order in which jobs are compared, which matters because the rule is not transitive: ``longest`` on
    one GPU first, ``arrival`` as in the authors' code, or ``shortest``. ``tie`` says who gets the GPU at equality, the
    ``longer`` job as in the authors' code or the ``shorter``. ``phi`` is how many GPUs more the longer job is taken to
    have once the shorter has ended: 1 is AFS, more is more optimistic, ``inf`` is shortest first.

    >>> policy_from("afs-l:scan=arrival").decide(shipped_round("toy/three-elastic"), 0).assignments[0].gpus
    {'n0': 2}
    """

    scan: str = "longest"
    tie: str = "longer"
    phi: str = "1"

    own_name: ClassVar[str] = "afs-l"
    choices: ClassVar[Mapping[str, Allowed]] = {
        **ElasticPolicy.choices,
        "scan": SCANS,
        "tie": TIES,
        "phi": Span(1, 1_000_000, words=("inf",), whole=True),
    }

    def shares(self, round_: Round, demand: Demand, gpus: int, seed: int) -> Ints:
        """Return AFS' shares; arrival is the order of submission, then of the round."""
        if self.objective == "completion":
            return self.worth_shares(round_, demand, gpus)
        scan = demand.arrivals(round_) if self.scan == "arrival" else scan_order(self.scan, demand.time)
        phi = None if self.phi == "inf" else int(self.phi)
        return afs_shares(
            demand.speed, demand.cap, demand.time, gpus, scan=scan, tie=self.tie, phi=phi, ladder=demand.ladder
        )

    def clock_rule(self, rules: ClockRules) -> Rule | None:
        """Return AFS with these parameters; by what work is worth shares hang on all jobs of the round."""
        if self.objective == "completion":
            return None
        return rules.afs(scan=self.scan, tie=self.tie, phi=None if self.phi == "inf" else int(self.phi))
