"""The main job: a crawl from its seeds to its summary, with worker processes of its own."""
