"""Our own clock: events, who sits where, what a restart costs, and who is asked for decisions."""
