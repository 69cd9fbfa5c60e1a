"""Rounds and settings in which service meets limits, and waiting meets patience, often."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from muri_opt import Round
from muri_opt.testing import rounds

SERVICE = [0.0, 0.5, 1.0, 999.999, 1000.0, 2500.0, 3249.999, 3250.0, 3250.001, 7199.0, 7200.0, 1e6]
SECONDS = [0.0, 0.000001, 1.0, 2.0, 10.0, 40.0, 1000.0]


@st.composite
def served_rounds(draw: st.DrawFn, *, max_jobs: int = 6, max_nodes: int = 3, tight: bool = True) -> Round:
    """Draw a round of jobs that have run and waited, among them equal ones."""
    round_ = draw(rounds(max_jobs=max_jobs, max_nodes=max_nodes, tight=tight))
    jobs = tuple(
        msgspec.structs.replace(
            job,
            submitted=float(draw(st.integers(0, 3))),
            attained_gpu_seconds=draw(st.sampled_from(SERVICE)),
            executed_seconds=draw(st.sampled_from(SECONDS)),
            waiting_seconds=draw(st.sampled_from(SECONDS)),
        )
        for job in round_.jobs
    )
    return msgspec.structs.replace(round_, jobs=jobs)


@st.composite
def tiresias_specs(draw: st.DrawFn) -> str:
    """Draw the text of a policy, canonical or not."""
    settings = [
        draw(st.sampled_from(["queues=3250/7200", "queues=1", "queues=0.5/1000/3250.0010", "queues=57600"])),
        f"knob={draw(st.sampled_from(['0', '0.10', '1', '2', '1e3']))}",
        f"objective={draw(st.sampled_from(['weighted', 'lexicographic']))}",
        f"nodes={draw(st.sampled_from(['any', 'fewest']))}",
    ]
    if draw(st.booleans()):
        samples = draw(st.lists(st.sampled_from(SERVICE[1:]), min_size=1, max_size=6))
        settings += [
            "rank=gittins",
            "samples=" + "/".join(map(str, samples)),
            f"quantum={draw(st.sampled_from(['3250', '0.5', '2250']))}",
            f"form={draw(st.sampled_from(['authors', 'textbook']))}",
        ]
    return "tiresias:" + ",".join(settings)
