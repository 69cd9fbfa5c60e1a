"""Our own clock: events, who runs where, what a restart costs, and who is asked for decisions."""
