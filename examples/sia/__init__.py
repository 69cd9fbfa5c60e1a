"""muri-opt in the simulator of Sia."""
