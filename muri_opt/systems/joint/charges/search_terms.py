"""On what terms very many jobs are searched: prices of all that is scarce besides GPUs, and how many may share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from muri_opt.rounds.amounts import Ints
from muri_opt.systems.joint.charges.capacity_charges import Capacities, asked_by, lone_charges
from muri_opt.systems.joint.charges.quota_charges import quota_charges
from muri_opt.systems.joint.charges.quotas import Quotas
from muri_opt.systems.joint.charges.sampled_charges import sampled_charges
from muri_opt.systems.joint.groups.offers import Offers
from muri_opt.systems.joint.groups.price_search import DEARER, Found, search
from muri_opt.systems.joint.jobs.job_model import Floats

NOT_DEARER = 1.0
"""Where jobs pay for more than GPUs, these are no dearer for being shared."""

_SHARED = 2.2
"""For how many members each GPU counts where sharing is free, as a guess."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """Jobs pay ``charge[j]`` for each of their GPUs besides; these are ``dearer`` so many times than without sharing.

    At most so many ``members`` share. What is found may ask for more than the ``limits`` all the same, as who shares is
    not known before. Where tenants have quotas ``lone`` is what is found if nobody shares; they ``bind`` if they could
    where jobs share, and ``bind_alone`` if they do even then.
    """

    charge: Floats
    limits: Capacities
    members: int
    dearer: float = DEARER
    lone: Found | None = None
    bind: bool = False
    bind_alone: bool = False

    def of(self, offers: Offers) -> Offers:
        """Return what jobs offer beyond what they pay besides, and that no more of them share."""
        return replace(offers, charge=self.charge, most_jobs=self.members)


def terms_of(offers: Offers, jobs: Ints, gpus: int, resources: Capacities, quotas: Quotas) -> Terms:
    """Return the terms that jobs alone tell, with so many GPUs left, quotas and other resources."""
    free, limits = np.zeros(len(offers.kind)), resources.and_of(quotas.left, quotas.counted)
    terms = Terms(charge=free, limits=limits, members=offers.most_jobs)
    if not gpus or not len(jobs) or limits.of_gpus_alone:
        return terms
    if len(quotas.left):
        return _within_quotas(replace(terms, charge=quota_charges(offers, jobs, quotas, gpus)), offers, jobs, gpus)
    told = sampled_charges(offers, jobs, resources)
    if told is None:
        return terms
    enough = Capacities.of_gpus(gpus, len(told))  # a sample tells as well as a search of all jobs would afterwards
    return replace(terms, charge=told, limits=enough, dearer=NOT_DEARER)


def _within_quotas(terms: Terms, offers: Offers, jobs: Ints, gpus: int) -> Terms:
    """Return the terms where tenants have quotas; jobs pay what they would if nobody shared.

    Each member of a group counts for a quota, so that quotas are scarcer where jobs share. Where GPUs are left over
    nobody gains by sharing.
    """
    lone = search(replace(terms, members=1).of(offers), gpus, jobs)
    asked, left = asked_by(lone, terms.limits)[1:], terms.limits.left[1:]
    fits = bool((asked <= left).all())
    bind = not fits or (lone.price > 0 and not (min(offers.most_jobs, _SHARED) * asked <= left).all())
    return replace(terms, lone=lone, bind=bind, bind_alone=bind and (not fits or bool(terms.charge.any())))


def priced_together(terms: Terms, offers: Offers, jobs: Ints) -> Terms:
    """Return the terms on which jobs share: where quotas bind all that is limited is priced at once by the jobs alone.

    Jobs then share in twos at most: larger groups would be cut down where they are placed.
    """
    if terms.lone is None or not terms.bind:
        return terms
    charge = lone_charges(offers, jobs, terms.lone, terms.limits)
    return replace(terms, charge=charge, members=min(2, offers.most_jobs), dearer=NOT_DEARER)
