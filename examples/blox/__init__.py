"""Blox, driven by a session."""
