"""Who comes first: the orders of the list-scheduling policies."""

from muri_opt.ordering.priority import ORDERS, Order, priority_order

__all__ = ["ORDERS", "Order", "priority_order"]
