"""Gangs of tenants on the nodes of a large cluster: prices that bound a round, and places near the bound.

Equal nodes are looked at once, equal gangs are counted. At given prices every node is a small knapsack of its own; a
decision is improved by putting gangs where they gain more than those lose who have to go.

Dantzig-Wolfe decomposition by nodes for the bound, large neighbourhood search for the places; letters are those of the
chapter *placement*.
"""

from muri_opt.systems.philly.search.search import Placed, place_round, quick_prices

__all__ = ["Placed", "place_round", "quick_prices"]
