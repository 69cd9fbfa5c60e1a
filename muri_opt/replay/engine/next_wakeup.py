"""When a policy would decide otherwise although nothing has happened but time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from muri_opt.replay.outcome import Floats, Ints
from muri_opt.rounds.quantities import MICROSECONDS_PER_SECOND, MILLISECONDS_PER_SECOND, microseconds
from muri_opt.systems import Policy
from muri_opt.systems.afs import UnknownLengthPolicy
from muri_opt.systems.aiturbo import AITurboPolicy
from muri_opt.systems.gangs import TiresiasPolicy
from muri_opt.systems.orders import TiresiasOrder
from muri_opt.systems.philly import PhillyPolicy, TenantRules
from muri_opt.systems.rubick import RubickPolicy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Had:
    """What some jobs have had, as a policy is told: an entry per job."""

    gpus: Ints
    attained: Floats
    executed: Floats
    waited: Floats


def seconds_to_change(policy: Policy, running: Had, waiting: Had) -> float:
    """Return in how many seconds, above 0, the policy wants to be asked again; infinity where time changes nothing.

    Where jobs wait: Tiresias when a running job leaves its queue or a waiting one is promoted, AFS-P at the end of a
    quantum, Philly when a gang that waits may spread further or is tried again, others when patience ends.
    """
    if not len(waiting.gpus):
        return inf
    if isinstance(policy, TiresiasPolicy):
        return min(
            seconds_in_queue(policy.order, running.gpus, running.attained),
            _in_seconds(_promotions(policy.order, waiting)),
        )
    if isinstance(policy, UnknownLengthPolicy):
        quantum = microseconds(float(policy.quantum))
        return _in_seconds([quantum - had % quantum for had in _micro(running.executed).tolist()])
    if isinstance(policy, PhillyPolicy):
        return _in_seconds(_next_tries(policy.rules, _micro(waiting.waited)))
    if isinstance(policy, (AITurboPolicy, RubickPolicy)) and policy.patience != "inf":
        # One of them asks for more than the patience, the other for as much: a microsecond more is both.
        out = microseconds(float(policy.patience)) + 1
        return _in_seconds([out - waited for waited in _micro(waiting.waited).tolist()])
    return inf


def seconds_in_queue(order: TiresiasOrder, gpus: Ints, attained: Floats) -> float:
    """Return in how many seconds the next running job attains the limit of its queue, to the next microsecond."""
    limits = np.array(order.limits, dtype=np.int64)
    service = np.rint(attained * MILLISECONDS_PER_SECOND).astype(np.int64)
    queue = np.searchsorted(limits, service, side="right")
    behind = queue < len(limits)
    if not behind.any():
        return inf
    left = 1000 * (limits[queue[behind]] - service[behind])
    return int((-(-left // gpus[behind])).min()) / MICROSECONDS_PER_SECOND


def _promotions(order: TiresiasOrder, waiting: Had) -> Iterable[int]:
    """Return in how many microseconds jobs that have left the first queue have waited long enough."""
    if not order.knob:
        return []
    service = np.rint(waiting.attained * MILLISECONDS_PER_SECOND).astype(np.int64)
    ran, waited = _micro(waiting.executed).tolist(), _micro(waiting.waited).tolist()
    return [
        ceil(order.knob * ran[place] - waited[place])
        for place in np.flatnonzero(service >= order.limits[0]).tolist()
        if ran[place]
    ]


def _next_tries(rules: TenantRules, waited: Ints) -> list[int]:
    """Return in how many microseconds waiting gangs may spread further, or are tried or left alone in turn."""
    found = []
    for moment in (rules.rack_after, rules.any_after):
        found += (moment - waited[waited < moment]).tolist()
    if rules.backoff:
        inside = waited % (rules.hold + rules.backoff)
        found += np.where(inside < rules.hold, rules.hold - inside, rules.hold + rules.backoff - inside).tolist()
    return found


def _micro(seconds: Floats) -> Ints:
    return np.rint(seconds * MICROSECONDS_PER_SECOND).astype(np.int64)


def _in_seconds(found: Iterable[int]) -> float:
    ahead = [moment for moment in found if moment > 0]
    return min(ahead) / MICROSECONDS_PER_SECOND if ahead else inf
