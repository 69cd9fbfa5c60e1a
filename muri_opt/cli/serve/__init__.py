"""``muri-opt serve``: the same messages as JSON lines on the standard streams, and over HTTP."""
