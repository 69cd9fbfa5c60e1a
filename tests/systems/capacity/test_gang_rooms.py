"""Gangs placed one after another are on the nodes that ``place_gang`` finds for each."""

from __future__ import annotations

from random import Random

from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt import Round
from muri_opt.systems.capacity import Leftover, held_gpus
from muri_opt.systems.capacity.gang_fit import place_gang
from muri_opt.systems.capacity.gang_rooms import gang_placer
from muri_opt.testing import rounds


@more_examples(60)
@given(rounds(), st.booleans(), st.randoms(use_true_random=False))
def test_all_are_where_they_would_be_one_by_one(round_: Round, consolidate: bool, random: Random) -> None:
    order = [job for job, one in enumerate(round_.jobs) if one.gpus]
    random.shuffle(order)
    left, told = Leftover(round_), Leftover(round_)
    placer = gang_placer(round_, told, consolidate=consolidate)
    for job in order:
        held = held_gpus(round_, job)
        plain = place_gang(round_, left, job, consolidate=consolidate, held=held)
        found = placer.place(job, held)
        assert (None if found is None else found.tolist()) == (None if plain is None else plain.tolist())
        if plain is not None:
            left.take(plain, job)
    placer.end()
    assert told.left.tolist() == left.left.tolist()
    assert told.quota.tolist() == left.quota.tolist()
