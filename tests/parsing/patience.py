"""How long may a hostile page take? So many times as long as an ordinary one of a megabyte, on this machine: a limit in
seconds would be about the machine.
"""

import time
from functools import cache

from crawler.parsing import parse_page

TIMES = 30  # the quadratic ways that such pages try take a thousand times as long
ORDINARY = (
    b"<title>t</title>" + b"<p>The spider sits in the middle of <a href=/its/web>its web</a>, and waits." * 13_000
)


@cache
def patience_seconds() -> float:
    """Of CPU."""
    started = time.process_time()
    page = parse_page(ORDINARY, "https://example.com/")
    assert page.simhash
    return TIMES * (time.process_time() - started)
