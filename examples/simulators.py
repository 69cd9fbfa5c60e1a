"""What a study runs in each simulator: traces, policies of theirs, and policies of muri-opt with their methods."""

from __future__ import annotations

from dataclasses import dataclass, field

THEIRS = "theirs"
"""The method of a policy that the simulator has itself."""
COMPLETION = "rubick:objective=completion"


@dataclass(frozen=True)
class Simulator:
    """What is run in a simulator: ``jobs`` of each trace under policies of theirs and policies and methods of ours.

    ``only`` are further policies and methods of ours, by the one trace that they are run on.
    """

    traces: tuple[str, ...]
    theirs: tuple[str, ...]
    ours: tuple[tuple[str, str], ...]
    only: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    jobs: int = 60

    def policies(self, trace: str) -> tuple[tuple[str, str], ...]:
        """Return the policies with their methods on a trace."""
        return (*((policy, THEIRS) for policy in self.theirs), *self.ours, *self.only.get(trace, ()))


SIMULATORS = {
    "blox": Simulator(
        traces=("small", "exponential", "gavel"),
        theirs=("Fifo", "Las", "Srtf"),
        ours=(
            ("fifo", "heuristic"),
            ("las", "heuristic"),
            ("srtf:preempt=yes", "heuristic"),
            ("srtf:preempt=yes", "auto"),
            ("joint-s", "heuristic"),
            ("joint-s", "auto"),
        ),
    ),
    "muri": Simulator(
        traces=("trace1", "trace2", "trace2_pr"),
        theirs=(
            "shortest",
            "shortest-gpu",
            "multi-resource-blossom-same-gpu",
            "multi-resource-blossom-same-gpu-unaware",
        ),
        ours=(
            ("muri-s:preset=authors", "heuristic"),
            ("muri-s:preset=authors", "auto"),
            ("muri-s:preset=authors,objective=completion", "auto"),
            ("muri-l:preset=authors", "heuristic"),
            ("joint-s:slowdown=muri", "heuristic"),
            ("joint-s:slowdown=muri", "auto"),
        ),
    ),
    "gavel": Simulator(
        traces=("makespan", "arrivals", "one-type"),
        theirs=(
            "fifo_perf",
            "max_min_fairness_perf",
            "finish_time_fairness_perf",
            "max_sum_throughput_perf",
            "min_total_duration_perf",
        ),
        ours=(("rubick", "heuristic"), ("rubick", "auto"), (COMPLETION, "auto"), ("srs", "heuristic")),
        only={"one-type": (("joint-s", "heuristic"), ("joint-s", "auto"))},
    ),
    "sia": Simulator(
        traces=("philly", "saturn", "one-type"),
        theirs=("sia", "gavel"),
        ours=(("sia", "heuristic"), ("sia", "auto"), ("rubick", "auto")),
        only={"one-type": (("joint-l:shares=powers", "auto"),)},
        jobs=30,
    ),
}
"""The simulators by name; each has a module ``examples.NAME.run``."""
