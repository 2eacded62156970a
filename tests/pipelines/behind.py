"""The broad spider, on a machine whose clock is a day behind."""

import time

from crawler.spiders.broad import BroadSpider

_true_time = time.time
time.time = lambda: _true_time() - 86400


class Behind(BroadSpider):
    pass
