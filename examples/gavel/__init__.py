"""muri-opt in the simulator of Gavel."""
