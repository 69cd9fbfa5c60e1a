"""muri-opt in other schedulers: adapters of their simulators, and a study that compares policies in them."""
