"""The simulator of Muri, driven by a session."""
