"""Who comes first: the orders of the list-scheduling policies."""

from muri_opt.ordering.gittins import GittinsIndex, gittins_index
from muri_opt.ordering.priority import ORDERS, Order, priority_order
from muri_opt.ordering.tiresias import TiresiasOrder

__all__ = ["ORDERS", "GittinsIndex", "Order", "TiresiasOrder", "gittins_index", "priority_order"]
