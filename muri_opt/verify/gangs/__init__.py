"""Gangs in the order of a list: value, bound, enumeration."""
