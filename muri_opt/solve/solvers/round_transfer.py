"""Rounds on their way to a solver process: what it has from the round before is named, not sent again.

From round to round a cluster and the plans of most jobs stay the same objects, and plans are most of a round. The
process keeps them, and with them all that it worked out about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import astuple

from muri_opt.rounds import Job, Round

_JOB: Final = Job.__struct_fields__
_ROUND: Final = Round.__struct_fields__
_PLANS: Final = _JOB.index("plans")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A round without its cluster and the plans of its jobs: their keys are there instead, and ``new`` has new ones.

    The round that was sent last has no ``fields``.
    """

    fields: dict[str, Any] | None = None
    jobs: tuple[tuple[Any, ...], ...] = ()
    new: dict[int, Any]


class Sender:
    """The end that sends rounds; the other end has the ``last`` one and, by key, its cluster and its plans."""

    def __init__(self) -> None:
        self.last: Round | None = None
        self._sent: dict[int, Any] = {}

    def pack(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a call, rounds as parcels."""
        return tuple(self._parcel(it) if isinstance(it, Round) else it for it in arguments)

    def _parcel(self, round_: Round) -> Parcel:
        if round_ is self.last:
            return Parcel(new={})
        kept: dict[int, Any] = {id(part): part for part in (round_.cluster, *(job.plans for job in round_.jobs))}
        new = {key: part for key, part in kept.items() if key not in self._sent}
        fields = dict(zip(_ROUND, astuple(round_), strict=True)) | {"cluster": id(round_.cluster), "jobs": ()}
        jobs = tuple(
            (*values[:_PLANS], id(values[_PLANS]), *values[_PLANS + 1 :]) for values in map(astuple, round_.jobs)
        )
        self.last, self._sent = round_, kept  # what is kept lives, so no other object gets its key
        return Parcel(fields=fields, jobs=jobs, new=new)


class Receiver:
    """The end that receives what a sender packs, all of it and in this order."""

    def __init__(self) -> None:
        self._last: Round | None = None
        self._sent: dict[int, Any] = {}

    def unpack(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of the call, parcels as the rounds they were."""
        return tuple(self._round(it) if isinstance(it, Parcel) else it for it in arguments)

    def _round(self, parcel: Parcel) -> Round | None:
        if parcel.fields is None:
            return self._last
        known = self._sent | parcel.new
        jobs = [dict(zip(_JOB, values, strict=True)) for values in parcel.jobs]
        cluster = parcel.fields["cluster"]
        self._sent = {key: known[key] for key in (cluster, *(job["plans"] for job in jobs))}
        made = tuple(Job(**job | {"plans": known[job["plans"]]}) for job in jobs)
        self._last = Round(**parcel.fields | {"cluster": known[cluster], "jobs": made})
        return self._last
