"""What jobs can have in a joint round, how long an iteration takes then, and what their work is worth."""
