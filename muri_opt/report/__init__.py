"""For people: a result as text, a round as text, and the picture of a decision."""
