"""The joint round: rules, value, bounds, enumeration."""
