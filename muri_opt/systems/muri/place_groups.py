"""Where the groups run: the set by priority, the places by size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muri_opt.rounds import Round
from muri_opt.rounds.stopping import look_at_clock
from muri_opt.systems.muri.group_locations import GroupLocations, group_locations
from muri_opt.systems.muri.node_places import NodePlaces, Places, places_of, smallest_first
from muri_opt.systems.muri.periods import Group
from muri_opt.systems.muri.queue_ranks import who_is_in


def place_groups(round_: Round, groups: Sequence[Group]) -> dict[Group, Places]:
    """Return GPUs of nodes for the groups that run; ``groups`` are in the order of their priority.

    The published algorithm places twice. It tries the groups in the order of their priority, each where first fit puts
    it, to learn which of them run. Then it empties the cluster and places those in descending GPU count, equal ones by
    priority, which leaves fewer holes. If that crowds one of them out, all stay where the first try put them;
    otherwise a group without a place at first may take what is free at last. Neither happens where GPU counts and equal
    nodes are powers of two and nothing but GPUs is limited. The authors' code without autopack leaves out the first
    try, and with it the priorities of groups that do not all fit.

    Where jobs ask for certain nodes a group is placed on those that all its members may use, and of a group that finds
    no place every job is tried alone at last. Elsewhere first fit begins at the smallest node or at the first one,
    whichever lets the earlier groups run.
    """
    found = _placed_twice(round_, groups, as_listed=False)
    if group_locations(round_) is not None or smallest_first(round_.amounts) is None:
        return found
    return max(found, _placed_twice(round_, groups, as_listed=True), key=lambda placed: who_is_in(groups, placed))


def _placed_twice(round_: Round, groups: Sequence[Group], *, as_listed: bool) -> dict[Group, Places]:
    """Return the same where first fit begins at the smallest node or at the first one, ``as_listed``."""
    first = _fill(round_, NodePlaces(round_, as_listed=as_listed), groups)
    left = NodePlaces(round_, as_listed=as_listed)
    second = _fill(round_, left, sorted(first, key=lambda group: -round_.jobs[group[0]].gpus))
    if len(second) < len(first):
        return first
    placed = second | _fill(round_, left, (group for group in groups if group not in first))
    if group_locations(round_) is None:
        return placed
    return placed | _fill(round_, left, ((job,) for group in groups if group not in placed for job in group))


def _fill(round_: Round, left: NodePlaces, groups: Iterable[Group]) -> dict[Group, Places]:
    """Return the places of the groups that fit into what is left, tried in order, and take them."""
    locations, placed = group_locations(round_), dict[Group, Places]()
    if locations is None:
        return left.place_each(groups)
    for group in groups:
        look_at_clock()
        found = _placed_in(locations, left, round_.jobs[group[0]].gpus, group)
        if found is not None:
            placed[group] = found
    return placed


def _placed_in(locations: GroupLocations, left: NodePlaces, gpus: int, group: Group) -> Places | None:
    """Give a group GPUs where all its members may be, and return them; ``None`` if there are none."""
    share = locations.fit(left, gpus, *group)
    if share is None or not left.within_quota(*group):
        return None
    found = places_of(share)
    left.give(found, group)
    return found
