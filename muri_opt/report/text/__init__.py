"""Results, rounds and studies as text."""
