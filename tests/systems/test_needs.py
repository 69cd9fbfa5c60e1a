"""What a policy says it needs is what it refuses a round without, and it needs nothing else."""

import pytest
from msgspec.structs import replace
from seeds import some_then_all

from muri_opt.errors import InputError
from muri_opt.rounds import Job
from muri_opt.rounds.generate import generate
from muri_opt.rounds.job_demands import DEMANDS
from muri_opt.systems import policy_from, systems

GENERATED = {"stages": "interleaving", "scaling": "elastic", "deadlines": "elastic"}
OPTIONAL = [field for field in Job.__struct_fields__ if field not in {*DEMANDS, "id", "gpus", "state", "placement"}]


def full_round(family, seed):
    round_ = generate(GENERATED.get(family, family), jobs=12, nodes=3, seed=seed)
    named = (replace(job, plan=job.plan or next((plan.name for plan in job.plans or ()), None)) for job in round_.jobs)
    return replace(round_, jobs=tuple(named))


def missing(policy, round_):
    try:
        policy.check(round_)
        policy.decide(round_, 0)
    except InputError as error:
        return error.field.rpartition(".")[2] if error.found == "nothing" else str(error)
    return None


@some_then_all(1, 3)
@pytest.mark.parametrize(("name", "family"), [(name, one.family) for one in systems() for name in one.policies])
def test_a_policy_needs_what_it_says(name, family, seeds):
    policy = policy_from(name)
    assert policy.summary
    assert "\n" not in policy.summary
    for seed in seeds:
        round_ = full_round(family, seed)
        for field in OPTIONAL:
            gone = {field: None, **({"plan": None} if field == "plans" else {})}
            without = replace(round_, jobs=tuple(replace(job, **gone) for job in round_.jobs))
            assert missing(policy, without) == (field if field in policy.needs else None), field
