"""A round as the case of the elastic optimum: iterations, and iterations a second, as the verifier reads them."""

from __future__ import annotations

from fractions import Fraction

from muri_opt.errors import InputError
from muri_opt.rounds import Round
from muri_opt.verify.afs.curve import Curve
from muri_opt.verify.certificates.elastic_optimum import ElasticCase

_MICROSECONDS = 1_000_000


def elastic_case(round_: Round) -> ElasticCase:
    """Return the jobs of a round, all there from the start, on the GPUs of the cluster as one pool; times in seconds.

    Work is counted in iterations and speed in iterations a second, so that the numbers of a proof can be read.
    """
    gpus = round_.cluster.total_gpus
    if gpus < 1 or not round_.jobs:
        found = f"{gpus} GPUs, {len(round_.jobs)} jobs"
        raise InputError("round", found, "at least 1 of both: somebody has to finish")
    speed, work = [], []
    for job in round_.jobs:
        if job.remaining_iterations is None:
            raise InputError(f"job {job.id!r}.remaining_iterations", "nothing", "a number: completion times need it")
        curve = Curve.of(job)
        rates = [Fraction(curve.speeds[k] * _MICROSECONDS, curve.unit) for k in curve.speeds if k <= gpus]
        speed.append([Fraction(0), *rates])
        work.append(Fraction(job.remaining_iterations))
    return ElasticCase(speed=speed, work=work, arrivals=[Fraction(0)] * len(work), gpus=gpus)
