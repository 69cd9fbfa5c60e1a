"""Policies by name and by text with parameters; what is unknown is refused with the nearest name."""

from __future__ import annotations

import pytest
from by_policy import formulation_of, value_unit_of

from muri_opt import Decision, InputError, RefusalError, Round, policy_from
from muri_opt.systems import POLICIES, Policy
from muri_opt.systems.gangs import FifoPolicy, GangPolicy
from muri_opt.systems.orders import ORDERS


@pytest.mark.parametrize(
    "text",
    [*POLICIES, "fifo:nodes=fewest", "max-min:objective=lexicographic", "las:objective=lexicographic,nodes=fewest"],
)
def test_the_text_of_a_policy_makes_the_policy_again(text: str) -> None:
    policy = policy_from(text)
    assert policy.spec == text
    assert policy_from(policy.spec) == policy


def test_defaults_are_left_out_of_the_text() -> None:
    assert policy_from("fifo:nodes=any,objective=lexicographic,preempt=no").spec == "fifo"
    assert policy_from("fifo:nodes=any,objective=lexicographic") == FifoPolicy(name="fifo")
    assert policy_from("fifo:preempt=yes,objective=weighted").spec == "fifo:objective=weighted,preempt=yes"
    assert policy_from("srtf:nodes=any,objective=weighted,preempt=yes") == GangPolicy(name="srtf")


def test_a_policy_object_is_itself() -> None:
    policy = GangPolicy(name="srtf", nodes="fewest")
    assert policy_from(policy) is policy


@pytest.mark.parametrize(
    ("text", "field", "found"),
    [
        ("fifi", "policy", "'fifi' (did you mean 'fifo'?)"),
        ("maxmin", "policy", "'maxmin' (did you mean 'max-min'?)"),
        ("", "policy", "''"),
        (None, "policy", "'None'"),
        ("fifo:node=fewest", "parameter of policy 'fifo'", "'node' (did you mean 'nodes'?)"),
        ("fifo:nodes=few", "policy 'fifo'.nodes", "'few'"),
        ("fifo:nodes", "policy 'fifo'", "'nodes'"),
        ("fifo:", "policy 'fifo'", "''"),
        ("fifo:objective=", "policy 'fifo'.objective", "''"),
        ("fifo:name=las", "parameter of policy 'fifo'", "'name'"),
    ],
)
def test_an_unknown_policy_parameter_or_value_is_refused(text: str, field: str, found: str) -> None:
    with pytest.raises(InputError) as refused:
        policy_from(text)
    assert (refused.value.field, refused.value.found) == (field, found)


def test_a_gang_policy_has_one_of_the_known_orders() -> None:
    with pytest.raises(InputError, match="did you mean 'srtf'"):
        GangPolicy(name="strf")


@pytest.mark.parametrize("policy", sorted(ORDERS))
def test_every_gang_policy_has_an_exact_program_and_a_unit(policy: str) -> None:
    for objective in ("weighted", "lexicographic"):
        chosen = policy_from(f"{policy}:objective={objective}")
        program = formulation_of(chosen)
        assert program.chapter == "gangs"
        assert ("binary digits" in value_unit_of(chosen)) == (objective == "lexicographic")


class Lone(Policy):
    chapter = "lone"

    def decide(self, round_: Round, seed: int) -> Decision:
        return Decision()


def test_a_chapter_that_no_system_has_a_program_of_is_refused_with_the_remedy() -> None:
    with pytest.raises(RefusalError, match="no exact program") as refused:
        formulation_of(Lone(name="lone"))
    assert refused.value.allowed.startswith("the method heuristic")
