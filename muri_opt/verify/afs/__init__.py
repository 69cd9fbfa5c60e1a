"""Elastic shares: rules, value, bound."""
