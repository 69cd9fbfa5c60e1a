"""Which rounds and jobs a policy takes: those it can decide, and of which it ignores no field."""

from __future__ import annotations

from collections.abc import Container, Mapping

from muri_opt.errors import InputError, RefusalError
from muri_opt.rounds import Round
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.systems.policy import Policy
from muri_opt.systems.registry import POLICIES


def admit(policy: Policy, round_: Round) -> None:
    """Refuse a round that uses a field which the policy would ignore, with who honours it, or one it cannot decide.

    >>> admit(policy_from("fifo"), shipped_round("toy/two-gangs"))
    """
    check_used(policy.spec, policy.honoured, round_.used_fields)
    policy.check(round_)


def check_used(spec: str, honoured: Container[str], used: Mapping[str, str]) -> None:
    """Refuse fields that are used and that a policy does not honour."""
    field = unhonoured(used, honoured)
    if field is not None:
        raise refusal(used, field, f"policy {spec!r}", honouring(field))


def admit_job(policy: Policy, alone: Round, without: Container[str], where: str) -> None:
    """Refuse the job of a round that has no other, if the policy could decide no round with it; ``where`` names it.

    ``without`` are the fields of format 2 that the round would use without the job. What may lie in other jobs, nodes
    or tenants is left to :func:`admit`, as are jobs that a policy of the caller's refuses in a ``check`` of its own
    and says nothing of in ``check_alone``.
    """
    brought = [field for field in alone.used_fields if field not in without]
    field = unhonoured(brought, policy.honoured)
    if field is not None:
        able = ", ".join(honouring(field))
        allowed = "a job without it" + f"; or a session that decides by what honours it: {able}" * bool(able)
        found = f"{field}, which the policy {policy.spec!r} does not honour"
        raise RefusalError(f"{where}.{field.removeprefix('job.')}", found, allowed)
    try:
        _check_alone(policy, alone)
    except InputError as error:
        said = error.field.removeprefix(f"jobs[0] ({alone.jobs[0].id!r}).")
        raise type(error)(f"{where}.{said}", error.found, error.allowed) from None


def _check_alone(policy: Policy, alone: Round) -> None:
    """Check the job by what the class says that is nearest to the policy's; a nearer ``check`` may take other jobs.

    Rules that count GPUs by the order of jobs refuse one that does not say what the order sorts by, whoever decides.
    """
    from muri_opt.systems.orders import ORDERS  # importing `solve_round` loads no system
    from muri_opt.systems.orders.priority import check_sortable

    nearest = next(kind for kind in type(policy).__mro__ if vars(kind).keys() & {"check", "check_alone"})
    if "check_alone" in vars(nearest):
        policy.check_alone(alone)
    elif "needs" in vars(nearest):
        Policy.check_alone(policy, alone)
    rules = policy.rules
    order = rules.get("order") if rules["chapter"] == Policy.chapter else None
    if order in ORDERS:
        check_sortable(alone, order)


def honouring(field: str) -> list[str]:
    """Return the names of the policies that honour a field of format 2, with a setting where it takes one.

    >>> honouring("round.together")
    ['muri-s:run=free', 'muri-l:run=free']
    >>> "fifo" in honouring("job.model")
    True
    """
    plain = [name for name, kind in POLICIES.items() if field in kind.honours]
    return plain + [
        f"{name}:{kind.honours_with[field]}" for name, kind in POLICIES.items() if field in kind.honours_with
    ]
