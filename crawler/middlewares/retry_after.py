"""When does a server that is busy want to be asked again?"""

import time
from email.utils import parsedate_to_datetime

from scrapy.http import Response

# These say that the server has enough, not that one page is broken.
SLOW_DOWN = frozenset({429, 502, 503, 504, 522, 524})


def retry_after_seconds(response: Response, longest_seconds: float) -> float:
    """What ``Retry-After`` says, in seconds or as a date; 0 when it says nothing that can be read."""
    text = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    seconds = 0.0
    if text.isascii() and text.isdigit():
        seconds = min(float(text[:10]), longest_seconds)
    elif text:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            seconds = 0.0
    return max(0.0, min(seconds, longest_seconds))
