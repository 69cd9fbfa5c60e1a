"""The family ``worst`` of the library: searches, shrinks and stores rounds on which algorithms are far from optimal.

    python -m benchmarks.make_worst_cases --folder instances

Each is a call of ``muri-opt worst-case --save`` but for one: in ``worst/muri-two-rounds`` only what the two rounds of
matching cost is counted, so that the search does not end at the easier ways to beat Muri.
"""

from __future__ import annotations

import argparse
import datetime
from dataclasses import replace
from fractions import Fraction

from muri_opt.cli.main import main as command_line
from muri_opt.rounds import Round
from muri_opt.studies.explain import grouping_loss
from muri_opt.studies.worst_case import Distance, save, shrink
from muri_opt.studies.worst_case.measure import ValueMeasure
from muri_opt.studies.worst_case.search import search_worst
from muri_opt.systems import policy_from

TENTH = Fraction(1, 10)
CALLS = {
    "worst/afs-linear": "afs-l --family elastic --jobs 2 --nodes 1 --seed 3 --measure completion --at-least 0.2",
    "worst/afs-curves": "afs-l:tie=shorter --family elastic --jobs 2 --nodes 1 --measure completion --at-least 0.2",
    "worst/optimus-plateau": "optimus --family elastic --jobs 4 --nodes 1 --measure completion --at-least 0.2",
    "worst/muri-packs-all": "muri-s --family interleaving --jobs 8 --nodes 1 --gpus 2 --seed 3 --at-least 0.1",
    "worst/srtf-gang": "srtf --family gangs --jobs 8 --nodes 2 --at-least 0.4",
    "worst/tiresias-gang": "tiresias --family gangs --jobs 8 --nodes 2 --at-least 0.4",
    "worst/rubick-guarantees": "rubick --family plans --jobs 6 --nodes 2 --at-least 0.2",
    "worst/aiturbo-ranks": "aiturbo --family configurations --jobs 4 --nodes 1 --seed 2 --at-least 0.2",
    "worst/aiturbo-step": "aiturbo:objective=time --family configurations --jobs 4 --nodes 1 --seed 3 --at-least 0.2",
    "worst/philly-order": "philly --family philly --jobs 6 --nodes 2 --at-least 0.2",
}


class TwoRounds(ValueMeasure):
    """The part of the optimum that is lost by merging pairs, and pairs of pairs, and by nothing else."""

    def _of(self, round_: Round) -> Distance | None:
        distance = super()._of(round_)
        if distance is None or not distance.gap:
            return distance
        loss = grouping_loss(round_, self.policy, self.limits)
        pairing = sum(step.loss for step in loss.steps if step.cause in ("merged-pairs", "pairs-of-pairs"))
        return replace(distance, gap=min(distance.gap, Fraction(pairing) / distance.optimum))


def main(arguments: list[str] | None = None) -> None:
    """Write the family ``worst`` of a library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--only", help="one name of the family")
    given = parser.parse_args(arguments)
    if given.only in (None, "worst/muri-two-rounds"):
        two_rounds(given.folder, given.budget)
    for name, call in CALLS.items():
        if given.only in (None, name):
            words = [*call.split(), "--budget", str(given.budget), "--save", name, "--folder", given.folder]
            if command_line(["worst-case", *words]):
                raise SystemExit(f"{name} was not found")


def two_rounds(folder: str, budget: int) -> None:
    """Store a round on which two rounds of matching lose a tenth of the optimum, all jobs being candidates."""
    measure = TwoRounds(policy_from("muri-s"))
    worst = search_worst(measure, family="interleaving", jobs=8, nodes=1, gpus=2, budget=budget, seed=1, at_least=0.1)
    small = shrink(worst.round, measure, TENTH, same_cluster=True)
    today = datetime.datetime.now(datetime.UTC).date()
    source = "benchmarks/make_worst_cases.py: muri-s, what two rounds of matching cost"
    whole, name = ValueMeasure(measure.policy), "worst/muri-two-rounds"
    save(folder, name, small.round, whole, source=source, today=today)
    print(f"{name}: {float(small.distance.gap):.2%} lost by pairing")


if __name__ == "__main__":
    main()
