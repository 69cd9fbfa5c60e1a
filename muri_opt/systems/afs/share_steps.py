"""Legal shares when jobs are packed into nodes, and the steps the greedy takes between them.

CoDDL lets a share be only a divisor or a multiple of the GPUs of a node, so that at most one job per node talks across
the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from muri_opt.errors import InputError
from muri_opt.rounds.error_text import shown
from muri_opt.systems.afs.pair_rule import UNBOUNDED
from muri_opt.systems.curves import Ints

MOST_STEP: Final = 1 << 11
"""Largest step between two legal shares: twice a speed times two steps is exact in floating point."""


def legal_shares(gpus_per_node: int, most: int) -> tuple[int, ...]:
    """Return the shares up to ``most`` that divide ``gpus_per_node`` or are multiples of it, smallest first.

    >>> legal_shares(4, 12)
    (1, 2, 4, 8, 12)
    """
    if gpus_per_node < 1:
        raise InputError("gpus_per_node", str(gpus_per_node), "a whole number from 1")
    divisors = (k for k in range(1, min(gpus_per_node - 1, most) + 1) if gpus_per_node % k == 0)
    return (*divisors, *range(gpus_per_node, most + 1, gpus_per_node))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """What the greedy sees of every job at every stop of its climb: one stop per legal share, the first at 0 GPUs.

    At stop i job j has ``share[i]`` GPUs and the speeds ``now``, ``more`` (one GPU more) and ``future``, all three of
    one stop in the same unit, and the remaining time ``time``; the next stop costs ``gpus[i]`` GPUs. Its last stop is
    ``stops[j]``, and ``alone[j]`` its remaining time on one GPU.
    """

    share: Ints
    gpus: Ints
    now: Ints
    more: Ints
    future: Ints
    time: Ints
    alone: Ints
    stops: Ints

    @classmethod
    def of(cls, speed: Ints, cap: Ints, time: Ints, phi: int | None, ladder: Sequence[int] | None) -> Steps:
        """Return the steps of one GPU at a time, or those of a ladder."""
        return cls.single(speed, cap, time, phi) if ladder is None else cls.on_ladder(speed, cap, time, phi, ladder)

    @classmethod
    def single(cls, speed: Ints, cap: Ints, time: Ints, phi: int | None) -> Steps:
        """Return the steps of one GPU at a time."""
        width = speed.shape[1] - 1
        more = speed[:, 1:]
        if phi == 1:
            future = more
        elif phi is None:
            future = np.full(more.shape, UNBOUNDED)
        else:
            future = np.take_along_axis(speed, np.minimum(np.arange(width) + phi, cap[:, None]), axis=1)
        if phi != 1:
            future[:, 0] = more[:, 0]
        share = np.arange(width + 1)
        gpus = np.ones(width, dtype=np.int64)
        return cls(
            share=share,
            gpus=gpus,
            now=speed[:, :-1],
            more=more,
            future=future,
            time=time[:, :-1],
            alone=time[:, 1],
            stops=cap,
        )

    @classmethod
    def on_ladder(cls, speed: Ints, cap: Ints, time: Ints, phi: int | None, ladder: Sequence[int]) -> Steps:
        """Return the steps from one legal share to the next.

        A step of d GPUs is judged by its average gain per GPU: between legal shares a curve counts as straight, and p'
        and f are read off the straight pieces one and ``phi`` GPUs ahead. So p' = p + (p(next) - p) / d; speeds of a
        stop are multiplied by what makes them whole, which changes no comparison because the rule is scale free.
        """
        share = np.array([0, *(rung for rung in ladder if rung < speed.shape[1])], dtype=np.int64)
        gpus = np.diff(share)
        stops = np.searchsorted(share, cap, side="right") - 1
        at = speed[:, share]
        ahead = np.minimum(share[:-1] + (phi or 1), share[stops][:, None])  # [job, stop]: where the future is read
        piece = np.minimum(np.searchsorted(share, ahead, side="right") - 1, np.maximum(stops - 1, 0)[:, None])
        begins, ends = np.take_along_axis(at, piece, axis=1), np.take_along_axis(at, piece + 1, axis=1)
        run = gpus[piece]
        now = at[:, :-1] * gpus * run
        more = now + (at[:, 1:] - at[:, :-1]) * run
        future = ((begins * run + (ends - begins) * (ahead - share[piece])) * gpus).astype(np.int64)
        if phi is None:
            future[:] = UNBOUNDED
        future[:, 0] = more[:, 0]
        return cls(
            share=share,
            gpus=gpus,
            now=now,
            more=more,
            future=future,
            time=time[:, share[:-1]],
            alone=time[:, 1],
            stops=stops,
        )


def check_ladder(ladder: Sequence[int]) -> None:
    """Refuse a ladder that does not start at one GPU, does not rise, or has a step too large for exact arithmetic."""
    if not ladder or ladder[0] != 1 or any(not 0 < b - a <= MOST_STEP for a, b in pairwise(ladder)):
        raise InputError("ladder", shown(tuple(ladder)), f"rising shares from 1 GPU on, in steps up to {MOST_STEP}")
