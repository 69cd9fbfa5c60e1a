"""What a job is expected to need yet, by sums made once, against the definition."""

from __future__ import annotations

from random import Random

import pytest

from muri_opt.verify.joint.expected_service import ExpectedService


def by_definition(had: int, samples: list[int]) -> int:
    longer = [sample for sample in samples if sample > had]
    costs = [
        sum(min(sample, until) - had for sample in longer) // sum(sample <= until for sample in longer)
        for until in longer
    ]
    return min(costs, default=had)


@pytest.mark.parametrize("largest", [6, 1_000, 10**18])
def test_every_job_needs_what_the_definition_says(largest: int) -> None:
    for seed in range(150):
        draw = Random(seed)
        samples = [draw.randint(1, largest) for _ in range(draw.randint(0, 30))]
        service = ExpectedService(samples)
        for had in [0, *(draw.randint(0, largest + 2) for _ in range(6)), *samples[:2]]:
            assert service.of(had) == by_definition(had, samples)
