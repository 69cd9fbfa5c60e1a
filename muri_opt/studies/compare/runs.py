"""The runs of a gap study: a round, a policy and a method each; what makes two the same, and how one is run."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import msgspec

from muri_opt import __version__
from muri_opt.errors import InputError
from muri_opt.rounds import Limits, Reason, Round
from muri_opt.solve.round import solve_round
from muri_opt.solve.solvers import FIRST_BACKEND, WorkerError, backend_named, borrowed_worker
from muri_opt.studies.compare.rows import REFUSED, VIOLATED, CompareRow
from muri_opt.studies.library import Optimum
from muri_opt.studies.runner.methods import HEURISTIC
from muri_opt.studies.runner.policy_code import code_digest
from muri_opt.studies.runner.run_pool import Failed

_DIGITS: Final = 32
_MOST_VIOLATIONS: Final = 3


class Found(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of a solve; the fields are those of :class:`CompareRow`."""

    reason: str
    detail: str
    value: int | None = None
    bound: int | None = None
    gap: float | None = None
    claimed_bound: int | None = None
    proof: str | None = None
    solve_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A run with all it needs, so that it can be done anywhere; ``known`` is what the library has stored."""

    instance: str
    round: Round
    policy: str
    method: str
    limits: Limits
    fingerprint: str
    known: Optimum | None

    def row(self, found: Found) -> CompareRow:
        """Return the row of what was found."""
        cluster = self.round.cluster
        return CompareRow(
            instance=self.instance,
            jobs=len(self.round.jobs),
            nodes=len(cluster.nodes),
            gpus=sum(node.gpus for node in cluster.nodes),
            policy=self.policy,
            method=self.method,
            fingerprint=self.fingerprint,
            **msgspec.structs.asdict(found),
            known_value=None if self.known is None else self.known.value,
            known_bound=None if self.known is None else self.known.bound,
        )

    def failed(self, why: Failed) -> CompareRow:
        """Return the row of a run that found nothing."""
        reason = VIOLATED if why.cause == "policy" else Reason.FAILED.value
        return self.row(Found(reason=reason, detail=why.message, solve_seconds=0.0))


def fingerprint_of(round_: Round, policy: str, method: str, limits: Limits) -> str:
    """Return the fingerprint of a run: of the round and not of its name, of how it is solved, and of this version.

    Of a policy from elsewhere, the code counts too.
    """
    settings = [round_.fingerprint, policy, method, limits.seconds, limits.work, limits.gap, __version__]
    code = code_digest(policy)
    if code is not None:
        settings.append(code)
    return hashlib.sha256(msgspec.json.encode(settings)).hexdigest()[:_DIGITS]


def run_task(task: Task) -> Found | Failed:
    """Solve one run, wherever this is called.

    A round that the policy or the method does not take is a finding. A solver that failed, an answer that breaks rules
    and an error of ours are failures.
    """
    _warm(task.method)
    began = time.perf_counter()
    try:
        result = solve_round(task.round, task.policy, task.method, task.limits)
    except InputError as error:
        return Found(reason=REFUSED, detail=str(error), solve_seconds=time.perf_counter() - began)
    except Exception as error:  # one run that breaks must not take the others with it
        return Failed(cause="error", message=f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - began - result.stats.startup_seconds
    violations, ended = result.certificate.violations, result.termination
    if violations:
        said = [f"{one.rule} ({one.where}): {one.detail}" for one in violations[:_MOST_VIOLATIONS]]
        return Failed(cause="policy", message="; ".join(said))
    if ended.reason is Reason.FAILED:
        return Failed(cause="error", message=ended.detail)
    return Found(
        reason=ended.reason.value,
        detail=ended.detail if ended.limit is None else f"{ended.limit}: {ended.detail}",
        value=result.value,
        bound=result.bound,
        gap=result.gap,
        claimed_bound=result.claimed_bound,
        proof=None if result.certificate.proof is None else result.certificate.proof.value,
        solve_seconds=seconds,
    )


def _warm(method: str) -> None:
    """Load here, and in the solver process, what first calls load late, so that no run pays for the others.

    Whatever is wrong with a backend is said by the run itself.
    """
    import_module("scipy.optimize")
    if method != HEURISTIC:
        with suppress(WorkerError), borrowed_worker() as worker:
            worker.call(_load, method.partition("@")[2] or FIRST_BACKEND, seconds=None)


def _load(backend: str) -> None:
    import_module("scipy.optimize")
    with suppress(ImportError, OSError):
        backend_named(backend).version()
