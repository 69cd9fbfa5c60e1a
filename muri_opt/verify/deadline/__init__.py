"""Deadlines: rules, value, bound, enumeration."""
