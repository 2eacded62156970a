"""Every setting of the project, once, with its default and why it is so.

Any of them can be given as ``-s NAME=value`` or as the environment variable
``CRAWLER_NAME``; the environment is read at the bottom of this file.
"""

from crawler.environment import overrides_from_environment

BOT_NAME = "orbweaver"
SPIDER_MODULES = ["crawler.spiders"]
NEWSPIDER_MODULE = "crawler.spiders"
COMMANDS_MODULE = "crawler.commands"

# A site owner who reads a log must be able to find out who called: put an address of yours here.
USER_AGENT = "Orbweaver/0.1 (web crawler; set USER_AGENT to name its operator)"

# --- Engines ---------------------------------------------------------------------------------

# Where the embedded engines live, and what the crawl leaves behind.
DATA_DIR = "./data"
# embedded:, redis://, rediss://, unix://, redis+sentinel://h1:p,h2:p/service/db, redis+cluster://h1:p,h2:p
REDIS_URL = "embedded:"
# Spiders written for scrapy-redis have a Redis client of their own: with this class it takes all those URLs too.
REDIS_PARAMS = {"redis_cls": "crawler.frontier.blocking.BlockingRedis"}

# --- Frontier --------------------------------------------------------------------------------

FRONTIER_CRAWL = "default"  # the crawl that workers, seeds and commands mean when none is named
FRONTIER_NAMESPACE = "ow"  # first part of every key, so that a Redis can be shared with other programs
# Partitions of the key space. 0 means 1 on a single Redis (one round trip does everything) and 32 on Cluster
# (several per node, so that nodes can be added). Fixed in Redis by the first process that opens the namespace.
FRONTIER_PARTITIONS = 0
# Exact seen-sets stay in Redis's 8-byte integer encoding up to 512 members (Redis's own default): 65,536 buckets
# per partition hold 30 million URLs at about ten bytes each. Raise it for larger crawls; fixed per namespace too.
FRONTIER_SEEN_BUCKETS = 65536
# First tier of duplicate detection, in each worker: 18 MB, touched only as it fills.
FRONTIER_BLOOM_CAPACITY = 10_000_000
FRONTIER_BLOOM_ERROR_RATE = 0.001
# Fingerprints that this worker knows for certain to be accepted; saves asking Redis about every navigation link.
FRONTIER_RECENT_LINKS = 200_000

FRONTIER_RATE = 1.0  # tokens per second and host: one request a second is what most site owners tolerate
FRONTIER_BURST = 10  # size of the token bucket
FRONTIER_LOCK_SECONDS = 10  # a host's lock, and with it the lease, lasts this long unless renewed
FRONTIER_VISIT_PAGES = 8  # at most this many URLs of one host in flight, so that a dead host blocks few slots
FRONTIER_CLASS_WEIGHTS = {"high": 70, "medium": 20, "low": 10}  # shares of what is leased, while all have work
FRONTIER_LEASE_AHEAD = 16  # URLs leased beyond what is being fetched, so that the downloader never waits for Redis
FRONTIER_FLUSH_SECONDS = 0.02  # finished pages are collected this long, then acked together
FRONTIER_IDLE_SECONDS = 1.0  # an idle worker looks for work this often, and no more
# Where seeds may be pushed by any Redis client, as scrapy-redis has it: a list, a set or a sorted set.
REDIS_START_URLS_KEY = "%(name)s:start_urls"
REDIS_START_URLS_BATCH_SIZE = 500  # start URLs read at a time; each is removed only when it is in the frontier
FRONTIER_MAX_CRASHES = 3  # a URL whose worker died this often is dead: it may be what kills them

MAX_PAGES = 0  # pages of a crawl, 0 for no limit
MAX_PAGES_PER_HOST = 0  # pages of a host in a crawl, 0 for no limit
MAX_DEPTH = 3  # links followed from a seed, -1 for no limit
KEEP_ALIVE = False  # workers of a finished crawl wait for more seeds instead of ending

# Pages are fetched again: after the first interval, then half as long each time they changed and half as long again
# each time they did not, give or take a tenth, so that the pages of one day do not all come back in one second.
# Refetches do not count towards MAX_PAGES_PER_HOST. Towards MAX_PAGES they do, unless the server says that the page is
# as it was; and `scrapy crawl URL` then means its own run by it, so that the same command can be given every day.
# Without RECRAWL, pages that wait to be crawled again go on waiting.
RECRAWL = False
RECRAWL_FIRST_SECONDS = 86400  # a day: of the pages of the web that change at all, most do so less often
RECRAWL_MIN_SECONDS = 3600  # a page that changes at every visit, by an advertisement say, is not worth more
RECRAWL_MAX_SECONDS = 30 * 86400  # a page that never changed so far is still looked at once in a while

# A Frontera BaseCrawlingStrategy: gives each link its score, and by the score its class.
FRONTIER_STRATEGY = "crawler.frontier.strategy.breadth_first.BreadthFirstStrategy"
FRONTIER_HIGH_SCORE = 0.7  # links scored at least this are high priority
FRONTIER_LOW_SCORE = 0.3  # links scored below this are low priority
FRONTIER_DEEP_LINKS = 3  # from this depth on a link is a deep one (breadth-first strategy)
# Crawled pages and their links, for other processes to read from a Redis Stream: off, because it costs about as
# much Redis memory and traffic as the frontier itself.
SPIDER_LOG = False
SPIDER_LOG_LENGTH = 100_000  # the stream is trimmed to about this many pages
EVENTS_LENGTH = 10_000  # the event stream of a crawl is trimmed to about this many events

# Retries: delays in seconds; one more attempt than delays is made before the URL is dead.
RETRY_DELAYS = [1, 2, 4]
RETRY_AFTER_MAX_SECONDS = 3600  # a server cannot send us away for longer than this
CRAWL_DELAY_MAX_SECONDS = 30  # a robots.txt cannot slow us down to less than a page in this time
# Requests that the frontier did not hand out (of a spider on another scheduler, say) take the same tokens and locks.
POLITENESS_ENABLED = True
POLITENESS_WAIT_SECONDS = 60  # such a request waits this long for its host, then it fails as timed out
HOST_BACKOFF_MAX_SECONDS = 300  # a host that keeps failing is left alone for at most this long

# --- Scope -----------------------------------------------------------------------------------

ALLOW_PRIVATE = False  # loopback and private addresses: refused, or any page could make us attack our own network
FOLLOW_HOSTS = "seeds"  # seeds: only hosts that were seeded; all: wherever the links lead
FOLLOW_SITEMAPS = True  # sitemaps that robots.txt names; their URLs are links, as far from the seeds as those of a seed
URLLENGTH_LIMIT = 2083

# --- Scrapy ----------------------------------------------------------------------------------

SCHEDULER = "crawler.frontier.scheduler.Scheduler"
DUPEFILTER_CLASS = "crawler.frontier.dupefilter.DupeFilter"
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
ASYNCIO_EVENT_LOOP = "uvloop.Loop"

# The frontier decides how hard a host is visited; these bound one worker's memory and sockets.
CONCURRENT_REQUESTS = 64
CONCURRENT_REQUESTS_PER_DOMAIN = 16
DOWNLOAD_DELAY = 0
# Scrapy starts this many tasks for every response; at its default of 100 that costs more than the parsing does.
CONCURRENT_ITEMS = 2

DOWNLOAD_TIMEOUT = 15
DOWNLOAD_MAXSIZE = 10 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
DOWNLOAD_VERIFY_CERTIFICATES = True
# Scrapy's own default leaves file:, data:, s3: and ftp: open to any link.
DOWNLOAD_HANDLERS = {"data": None, "file": None, "ftp": None, "s3": None}
TWISTED_DNS_RESOLVER = "crawler.middlewares.egress.GuardedResolver"

# Both are on by default in Scrapy, and both run code sent to them.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

COOKIES_ENABLED = False  # a crawl of many hosts has no sessions to keep
REDIRECT_ENABLED = False  # redirects re-enter through the frontier, see middlewares/outcome.py
RETRY_ENABLED = False  # and so do retries
METAREFRESH_ENABLED = False
HTTPPROXY_ENABLED = True
ROBOTSTXT_OBEY = True
REFERER_ENABLED = False  # broad crawls do not tell a site where its visitor came from

DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "crawler.middlewares.egress.EgressMiddleware": 50,
    "crawler.middlewares.robots.RobotsMiddleware": 100,
    "crawler.middlewares.outcome.OutcomeMiddleware": 550,
    "crawler.middlewares.recrawl.RecrawlMiddleware": 560,  # sees bodies decoded, and an answer before outcome judges it
    "crawler.middlewares.politeness.PolitenessMiddleware": 900,  # next to the downloader: what it holds it gives back
}
PAGE_LOG = True  # one JSON line per page in DATA_DIR/crawls/<crawl>/pages.jsonl
ITEM_PIPELINES = {
    "crawler.pipelines.pages.PageLogPipeline": 300,
}

LOG_LEVEL = "INFO"
LOGSTATS_INTERVAL = 60.0

globals().update(overrides_from_environment(globals()))
