"""Does one page have ever more queries? Filters that combine, sort orders, positions: each URL by itself looks well,
and together they have no end. The scope asks for every link that it would take.

In the memory of one worker, as far as that goes: several workers each let as many through, and what a worker has not
met for long it forgets. A query of one or two parameters is not counted: ``?id=…`` names things, of which a site may
have many, and calendars are known by their dates.
"""

import xxhash

MOST_QUERIES = 500_000  # remembered in all: about 50 MB
FEWEST_PARAMETERS = 3


class QueryCounter:
    def __init__(self, most_per_path: int) -> None:
        """0 counts nothing."""
        self._most = most_per_path
        self._paths: dict[str, set[int]] = {}  # the one met longest ago first
        self._total = 0

    def is_one_too_many(self, text: str) -> bool:
        if not self._most:
            return False
        path, _, query = text.partition("?")
        if query.count("&") < FEWEST_PARAMETERS - 1:
            return False
        queries = self._paths.pop(path, None)
        if queries is None:
            queries = set()
        self._paths[path] = queries
        number = xxhash.xxh3_64_intdigest(query.encode())
        if number in queries:
            return False
        if len(queries) >= self._most:
            return True
        queries.add(number)
        self._total += 1
        while self._total > MOST_QUERIES and len(self._paths) > 1:
            self._total -= len(self._paths.pop(next(iter(self._paths))))
        return False
