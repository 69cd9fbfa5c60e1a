"""Gangs of tenants: rules, changes, reasons, value, bound, optimum."""
