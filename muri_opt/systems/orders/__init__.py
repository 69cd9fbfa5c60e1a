"""Who comes first: the orders of the list-scheduling policies."""

from muri_opt.systems.orders.gittins import GittinsIndex, gittins_index
from muri_opt.systems.orders.priority import ORDERS, Order, priority_order
from muri_opt.systems.orders.tiresias_order import TiresiasOrder

__all__ = ["ORDERS", "GittinsIndex", "Order", "TiresiasOrder", "gittins_index", "priority_order"]
