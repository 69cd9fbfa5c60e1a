"""The search of a whole round: within what is scarce, priority after priority, beside what runs."""
