"""The frontier: every URL of a crawl, from the moment it is found until it has ended, in Redis.

All state of a host is in one partition, ``p = hash(host) mod P``, whose keys share a hash tag and so a slot of Redis
Cluster: the scripts in ``lua/`` run the same on one Redis (P = 1) and on a cluster (P = 32). Nothing but those scripts
writes the keys of the first two tables. ``ow`` is ``FRONTIER_NAMESPACE``.

Of a host, shared by all crawls:

========================= ======= =============================================================================
``{ow:p}:polite:<host>``  string  msgpack array: token bucket, lock (owner, crawl, fencing token), block, failures,
                                  Crawl-delay, who waits for the lock; its fields are named in ``lua/host.lua``
``{ow:p}:robots:<host>``  string  until when it is valid, and the text of robots.txt; ``robots-failures`` counts how
                                  often it could not be had, ``robots-claim`` is held by who fetches it outside a visit
``{ow:p}:visits``         zset    ``fence|crawl|host`` → ms at which the lock runs out unless renewed
``{ow:p}:fence``          string  the last fencing token
========================= ======= =============================================================================

Of a crawl, in each partition (``{ow:p}:<crawl>:`` stands before each name):

========================= ======= =============================================================================
``ready:<class>``         zset    host → ms from which it may be visited
``q:<class>:<host>``      zset    queued entries (``entry.py``), the lowest score first
``leased``                hash    fencing token and id → class, score, host and entry of each URL that is leased
``later``                 zset    retries: class, score, host and entry → ms at which they are due
``again``                 zset    the same of pages that were fetched and are to be crawled again; they are queued too
``seen:<bucket>``         set     64-bit fingerprints of all accepted URLs; small enough for Redis's integer encoding
``dead``                  hash    id → reason, ms, host, detail and entry of each URL that ended badly
``untold``                zset    ids of the dead that are not in the event log → ms from which somebody tells of them
``crashes``               hash    id → how often its worker died
``pages``                 hash    host → different pages fetched
``counts``, ``drops``     hash    accepted = queued + leased + done + dead; drops by reason
``turns``                 string  msgpack array: credit of each class in the deficit round-robin
``state``                 string  ``paused`` or ``draining``; absent while it runs
``bodies:<store>:<n>``    hash    hash of a body → id and day of the page that has it, or is about to be kept with it
``near:<quarter>:<bits>`` string  simhash and id of the newest pages with these 16 bits in this quarter of their simhash
``blocked``               set     ``class|host`` with queued URLs of a host that is blocked for good
========================= ======= =============================================================================

On their own, one command each (``keys.py``):

========================= ======= =============================================================================
``ow:layout``             hash    partitions, seen buckets, versions of URLs and entries: fixed by who came first
``ow:crawls``             set     ids of all crawls
``ow:hosts:<crawl>``      set     hosts that were seeded
``ow:budget:<crawl>``     hash    pages spent and reserved, when ``MAX_PAGES`` is set
``ow:events:<crawl>``     stream  workers that came and went, URLs that failed, how the crawl ended
``ow:spider-log:<crawl>`` stream  crawled pages and their links, when ``SPIDER_LOG`` is on
``ow:workers``            set     ids of workers
``ow:worker:<id>``        hash    one worker's heartbeat; expires
========================= ======= =============================================================================
"""
