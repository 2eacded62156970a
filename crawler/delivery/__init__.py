"""How does a page reach an engine that may be away? In batches; over the disk, when it has to be.

    batching.py     many small calls become few large ones
    spool.py        records on disk, until somebody delivers them
    outlet.py       the way to one engine: straight if it is there, into the spool if it is not, and out of it again

A page is acked only when the outlets of store and index have it safe: the engine said so, or it is in the spool.
"""
