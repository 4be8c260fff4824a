"""Files of edges: formats told apart, and read."""
