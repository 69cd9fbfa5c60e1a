"""Moves that free nodes or make room: check, bound, enumeration."""
