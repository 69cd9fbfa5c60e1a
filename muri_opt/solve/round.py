"""``solve_round()``: the one place that ties the parts together."""

from __future__ import annotations

import time

from muri_opt.errors import unknown_name
from muri_opt.rounds import (
    Limits,
    Result,
    Round,
)
from muri_opt.solve.collector import collector_waits
from muri_opt.solve.fixed_point import reach_fixed_point
from muri_opt.solve.loading import load_here
from muri_opt.solve.needless_changes import undo_needless_changes
from muri_opt.solve.search import Search
from muri_opt.solve.solvers import BACKENDS, FIRST_BACKEND, SECOND_BACKEND
from muri_opt.solve.sparing import spare_changes
from muri_opt.solve.starts_beside import start_beside
from muri_opt.systems import DEFAULT_POLICY, Named, Policy, admit, has_program, policy_from


def solve_round(
    round_: Round, policy: Named = DEFAULT_POLICY, method: str = "auto", limits: Limits | None = None
) -> Result:
    """Return the decision of a round with its value, bound, proof and why the solve stopped.

    ``policy`` is a text, a policy, a subclass of :class:`~muri_opt.Policy`, or a function from a round to a decision;
    :func:`~muri_opt.policy_from` says which texts there are.

    ``method`` is ``"heuristic"`` (the policy's own algorithm), ``"exact"`` (its exact program), ``"exact@<backend>"``
    (that backend only), or ``"auto"`` (the heuristic, then the exact program from that start until proved or out of
    time; the better of the two). What a solver claims and nothing here proves is put to a second solver while time is
    left, unless one backend was asked for; the word of one solver is ``claimed_bound`` and makes nothing OPTIMAL.
    Infeasible and out-of-time are results; only bad input raises. The limit in seconds begins when all is loaded: the
    first call of a process takes longer by ``stats.startup_seconds``, unless :func:`~muri_opt.warm_up` was called.
    With ``Limits(work=...)`` no clock is asked for anything, and the same call gives the same result (but for the
    seconds in its ``stats``) on every machine with the same installed versions and the same kind of processor.

    >>> result = solve_round(shipped_round("toy/two-gangs"), policy="fifo", method="exact")
    >>> result.value, result.bound, sorted(result.decision.running)
    (5, 5, ['job-0', 'job-2'])
    """
    chosen = policy_from(policy)
    check_method(method)
    asked = limits or Limits()
    with collector_waits(asked):
        return _solved(round_, chosen, method, asked)


def check_method(method: str) -> None:
    """Refuse what is no method of :func:`solve_round`."""
    kind, _, backend = method.partition("@")
    if kind not in ("heuristic", "exact", "auto") or (backend and kind != "exact"):
        raise unknown_name("method", method, ["heuristic", "auto", "exact", *(f"exact@{name}" for name in BACKENDS)])
    if "@" in method and backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)


def _solved(round_: Round, chosen: Policy, method: str, limits: Limits) -> Result:
    began = time.monotonic()
    load_here(chosen)
    loading = time.monotonic() - began
    admit(chosen, round_)
    apart = chosen.set_apart(round_)
    rest = round_ if apart is None else apart.rest
    search = Search(round_=rest, policy=chosen, method=method, limits=limits, apart=apart, began=began)
    search.put_off(loading)
    _run(search)
    if method == "auto" and has_program(search.rules):
        reach_fixed_point(
            search, lambda then, left: _run(Search(round_=then, policy=chosen, method=method, limits=left))
        )
    return search.result()


def _run(search: Search) -> Search:
    """Run the steps of a method, each only where those before leave something to find; return the search."""
    kind, _, backend = search.method.partition("@")
    if kind != "exact":
        search.run_heuristic()
    if kind == "heuristic" or (kind == "auto" and not has_program(search.rules)):
        return search
    if not backend and not search.close_enough:
        search.run_directly()
    backends = (backend,) if backend else (FIRST_BACKEND, SECOND_BACKEND)
    if not search.close_enough:
        search.run_exact(*backends)
    spare_changes(search, *backends)
    start_beside(search)
    undo_needless_changes(search)
    return search
