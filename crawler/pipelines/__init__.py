"""Item pipelines: what happens to a page after the spider."""
