"""One file per way of showing a graph."""
