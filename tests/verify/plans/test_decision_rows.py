"""A look at a whole decision among plans says what looks at single assignments say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest
from by_policy import settings_of
from plan_reading_cases import drawn_rounds

from muri_opt import Decision, InputError, Round, policy_from
from muri_opt.verify.chapter import Chapter
from muri_opt.verify.chapters import chapter_of
from muri_opt.verify.plans import plan_choices
from muri_opt.verify.plans.plan_choices import PlanChoices
from muri_opt.verify.plans.rules import plan_reasons
from muri_opt.verify.plans.rules_at_once import keeps_rules, reasons_at_once

POLICIES = [("configurations", "aiturbo"), ("plans", "rubick"), ("plans", "sia"), ("plans", "synergy")]
ROUNDS = 6


def mutants(round_: Round, decision: Decision, draws: random.Random) -> Iterator[Decision]:
    """Yield decisions that are wrong, or may be, in one thing."""
    nodes = [node.id for node in round_.cluster.nodes]
    for place, one in enumerate(decision.assignments):
        names = [plan.name for plan in round_.jobs[round_.job_index[one.jobs[0]]].plans or ()]
        node = next(iter(one.gpus))
        other = draws.choice(nodes)
        moved = {other if at == node else at: gpus for at, gpus in one.gpus.items()}
        change = draws.choice(
            [
                {"plan": draws.choice(names)},
                {"plan": None},
                {"gpus": moved, "cpus": {other if at == node else at: cpus for at, cpus in one.cpus.items()}},
                {"gpus": {**one.gpus, node: one.gpus[node] + 1}},
                {"gpus": {**one.gpus, "nowhere": 1}},
                {"cpus": {}},
                {"cpus": {**one.cpus, node: one.cpus.get(node, 0.0) + 1.0}},
                {"cpus": {**one.cpus, other: 2.0}},
                {"order": (1,)},
                {"period_seconds": 2.0},
                {"jobs": (*one.jobs, decision.assignments[0].jobs[0])},
                {"jobs": ("nobody",)},
                {"jobs": decision.assignments[0].jobs},
            ]
        )
        changed = list(decision.assignments)
        changed[place] = msgspec.structs.replace(one, **change)
        yield msgspec.structs.replace(decision, assignments=tuple(changed))
    for short in (decision.assignments[1:], (*decision.assignments, *decision.assignments[:1])):
        yield msgspec.structs.replace(decision, assignments=short)
    yield msgspec.structs.replace(decision, waiting=decision.waiting[1:])
    yield msgspec.structs.replace(decision, waiting=(*decision.waiting, *decision.waiting[:1]))


@pytest.mark.parametrize(("family", "policy"), POLICIES)
def test_what_is_seen_at_once_is_what_single_looks_find(family: str, policy: str, monkeypatch) -> None:
    named, planned, draws, wrong, seen = policy_from(policy), settings_of(policy), random.Random(3), 0, 0
    for round_, _ in zip(drawn_rounds(family), range(ROUNDS), strict=False):
        try:
            decision = named.decide(round_, 0)
        except InputError:
            continue
        chapter, menu = chapter_of(round_, named.rules), PlanChoices.read(round_, planned)
        assert keeps_rules(round_, menu, decision, chapter.quota_gpus)
        held = chapter.held_of_tenants(decision)
        assert [*reasons_at_once(round_, menu, decision, held)] == [*plan_reasons(round_, menu, decision, held)]
        for one in (decision, *mutants(round_, decision, draws)):
            value, found = menu.value_of(round_, one), Chapter.breaches(chapter, one)
            with monkeypatch.context() as patched:
                patched.setattr(plan_choices, "decision_rows", lambda *_: None)
                assert menu.value_of(round_, one) == value
            assert chapter.breaches(one) == found
            wrong += bool(found)
            seen += keeps_rules(round_, menu, one, chapter.quota_gpus)
    assert wrong > 10
    assert seen > ROUNDS  # some of them are not wrong
