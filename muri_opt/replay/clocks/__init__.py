"""The clocks of published simulators, kept as they are so that their figures can be compared."""
