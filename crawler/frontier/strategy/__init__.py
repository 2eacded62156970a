"""In which order should links be crawled? Strategies are Frontera's, and score links; the frontier queues them."""
