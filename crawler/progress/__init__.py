"""How is the crawl doing? One look at the frontier is a ``Snapshot``; the other modules show snapshots to somebody."""
