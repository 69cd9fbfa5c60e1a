"""Hypothesis strategy of rounds that say what format 1 cannot: types, shapes, labels, levels, order, time, tenants."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st

from muri_opt.rounds import Round
from muri_opt.rounds.generate.demands import with_demands
from muri_opt.rounds.used_fields import FIELDS


@st.composite
def demanding_rounds(draw: st.DrawFn, rounds: st.SearchStrategy[Round], *, fields: Collection[str] = FIELDS) -> Round:
    """Draw a round of another strategy with some of the ``fields`` of format 2: for a policy, those that it honours.

    >>> from hypothesis import find
    >>> find(demanding_rounds(rounds(), fields={"job.priority"}), lambda round_: round_.used_fields).used_fields
    {'job.priority': "jobs[0] ('job-0')"}
    """
    return with_demands(draw(rounds), lambda options: draw(st.sampled_from(options)), fields)
