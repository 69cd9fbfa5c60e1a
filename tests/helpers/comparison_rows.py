"""Rows of gap studies made by hand, at random and by Hypothesis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from muri_opt.studies.compare.rows import REFUSED, CompareRow


def run(method="exact", value=10, seconds=1.0, **changes):
    """One solve of a round of 4 jobs, proved optimal unless something else is said."""
    row = CompareRow(
        instance="round",
        jobs=4,
        nodes=2,
        gpus=8,
        policy="fifo",
        method=method,
        fingerprint="0" * 8,
        reason="OPTIMAL",
        detail="",
        value=value,
        bound=value,
        gap=0.0,
        proof="LinearDuals",
        solve_seconds=seconds,
    )
    return replace(row, **changes)


def found(method="quick", value=9, seconds=0.5, **changes):
    """One solve that ended with a value and no bound."""
    return run(method, value, seconds, **({"reason": "FEASIBLE", "bound": None, "gap": None, "proof": None} | changes))


def refused(method="exact", detail="round.jobs: found none; allowed: some", **changes):
    return found(method, None, 0.0, reason=REFUSED, detail=detail, **changes)


def at_random(*, rounds, policies=("fifo", "srtf", "muri"), seed=1):
    """A study of four methods: two exact ones that run out of time, one of one policy only, and a heuristic."""
    draw = np.random.default_rng(seed)
    rows = []
    for number in range(rounds):
        jobs = int(10 ** draw.uniform(0.5, 3.2))
        for policy in policies:
            best = int(draw.integers(50, 5000)) * jobs
            about = {"instance": f"small/{policy}-{number:02}", "jobs": jobs, "policy": policy}
            heavy = draw.random() < 0.25
            short = int(best * (1 - draw.choice([0, 0, 10 ** draw.uniform(-4, -0.7)])))
            rows.append(found("heuristic", short, float(1e-5 * jobs * draw.lognormal(0, 0.5)), **about))
            for method, speed in (("auto", 1e-4), ("cp-sat", 2e-3), ("highs", 1e-3)):
                seconds = min(20.0, float(speed * jobs * draw.lognormal(0, 1.5)))
                if method == "highs" and policy == "muri":
                    rows.append(refused(method, f"policy: found {policy}; allowed: another", **about))
                elif heavy or seconds == 20.0:
                    got = int(best * (1 - 10 ** draw.uniform(-5, -2)))
                    limit = best if method != "auto" or draw.random() < 0.6 else best + 7
                    rows.append(found(method, got, 20.0, bound=limit, gap=(limit - got) / got, **about))
                else:
                    rows.append(run(method, best, seconds, **about))
    return rows


PLAIN = st.sampled_from(("a", "b", "c"))


@st.composite
def studies(draw, *, names=PLAIN, most=6):
    """Draw the rows of up to ``most`` pairs of round and policy, each solved or refused by every method."""
    methods = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    rows = []
    for number in range(draw(st.integers(1, most))):
        best = draw(st.integers(-5, 1000))
        about = {
            "instance": f"{draw(names)}-{number}",
            "policy": draw(names),
            "jobs": draw(st.integers(0, 5000)),
        }
        for method in methods:
            kind = draw(st.sampled_from(("optimal", "bound", "value", "nothing", "refused")))
            value = best - draw(st.integers(0, 3))
            seconds = draw(st.sampled_from((0.0, 0.001, 0.5, 0.5, 2.0)) | st.floats(0.001, 1000.0))
            if kind == "optimal":
                rows.append(run(method, best, seconds, **about))
            elif kind == "refused":
                rows.append(refused(method, draw(names), **about))
            elif kind == "nothing":
                rows.append(found(method, None, seconds, reason="NO_SOLUTION", **about))
            else:
                limit = best + draw(st.integers(0, 3)) if kind == "bound" else None
                rows.append(found(method, value, seconds, bound=limit, **about))
    return rows
