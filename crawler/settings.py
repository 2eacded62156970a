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
# Where pages are kept: file: and a directory, or s3://bucket/prefix. As it stands here it means DATA_DIR/store.
# Keys for S3 come from where every AWS tool finds them (AWS_ACCESS_KEY_ID and so on, ~/.aws, the machine's role) and
# not from settings, because Scrapy logs those.
STORE_URL = "file:./data/store"
STORE_FORMAT = "html"  # html: one pages/<day>/<id>.html.gz each; warc: warc/<day>/<worker>-<serial>.warc.gz
# Waits until the disk has written, because the frontier writes down within a second that a page is done: after a power
# cut it must be there. Costs 0.1 ms of CPU a page, and brings one writer from 6,000 pages a second to 400.
STORE_SYNC = True
WARC_MAX_BYTES = 1_000_000_000  # a WARC file is closed at about this size: the customary one
S3_ENDPOINT_URL = ""  # of a server other than Amazon's, such as http://127.0.0.1:8333
S3_REGION = ""  # by default what the AWS environment says, else us-east-1
S3_CREATE_BUCKET = False  # a bucket that is not there is more often misspelt than missing
S3_REQUESTS_AT_ONCE = 16  # of one process; more helps only where the server is far away
# Spiders written for scrapy-redis have a Redis client of their own: with this class it takes all those URLs too.
REDIS_PARAMS = {"redis_cls": "crawler.frontier.blocking.BlockingRedis"}
# file:DIRECTORY (tantivy, in this process), elasticsearch+https://user:password@host:9200/pages, opensearch+https://…
# As it stands here it means DATA_DIR/index.
INDEX_URL = "file:./data/index"
INDEX_CA_FILE = ""  # an authority of one's own that signed the certificate of Elasticsearch or OpenSearch
INDEX_TIMEOUT_SECONDS = 30.0  # for one request to such a server: a bulk of large pages takes seconds
INDEX_BATCH_DOCUMENTS = 500  # in one commit or bulk: each costs the same for one document as for hundreds
INDEX_BATCH_BYTES = 8 * 1024 * 1024  # of text in one commit or bulk; servers refuse bulks of 100 MB
INDEX_HEAP_BYTES = 64 * 1024 * 1024  # what the embedded writer holds before it writes a segment; at least 15 MB

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
# While pages are parsed and kept, so many others are fetched meanwhile. A worker that dies has them fetched again.
FRONTIER_UNACKED_PAGES = 64
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
# Host names that lead to one address share one bucket and one lock as well: politer to shared hosting, and slower.
POLITENESS_BY_ADDRESS = False
POLITENESS_WAIT_SECONDS = 60  # such a request waits this long for its host, then it fails as timed out
HOST_BACKOFF_MAX_SECONDS = 300  # a host that keeps failing is left alone for at most this long

# --- Scope -----------------------------------------------------------------------------------

ALLOW_PRIVATE = False  # loopback and private addresses: refused, or any page could make us attack our own network
# Exceptions to that: networks (10.1.0.0/16), addresses and host names, such as an intranet, or a proxy in it.
ALLOW_ADDRESSES: list[str] = []
FOLLOW_HOSTS = "seeds"  # seeds: only hosts that were seeded; all: wherever the links lead
FOLLOW_SITEMAPS = True  # sitemaps that robots.txt names; their URLs are links, as far from the seeds as those of a seed
URLLENGTH_LIMIT = 2083

# Regular expressions (RE2: linear in time, no look-around), found anywhere in a link's canonical URL. With INCLUDE a
# link must match one of them; with EXCLUDE none. As text: separated by spaces. Seeds are taken whatever these say.
INCLUDE: list[str] = []
EXCLUDE: list[str] = []
# Files with one host a line: example.com, *.example.com (below it), .example.com (both); # begins a comment. Seeds of
# other hosts are refused too.
HOSTS_DENY_FILE = ""  # hosts that are never crawled
HOSTS_ALLOW_FILE = ""  # if given, no host but these is crawled
# Links that end like this are no pages, and are not asked for; with [] all are, and the Content-Type decides. Not in
# the list is what pages are called as well: Node.js, package.json.
SKIP_EXTENSIONS = [
    "avif", "bmp", "eps", "gif", "heic", "ico", "jpeg", "jpg", "png", "psd", "svg", "tif", "tiff", "webp",
    "3gp", "aac", "avi", "flac", "flv", "m3u8", "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "ogg",
    "ogv", "swf", "wav", "webm", "wma", "wmv",
    "7z", "apk", "bin", "bz2", "deb", "dmg", "exe", "gz", "iso", "jar", "msi", "pkg", "rar", "rpm", "tar", "tgz",
    "torrent", "war", "whl", "xz", "zip", "zst",
    "csv", "doc", "docx", "epub", "mobi", "odp", "ods", "odt", "pdf", "ppt", "pptx", "rtf", "xls", "xlsx",
    "css", "eot", "otf", "ttf", "woff", "woff2",
]  # fmt: skip

# A response of another type is not read; with [] all are. "text/*" is a family. One that names no type is read.
ALLOWED_CONTENT_TYPES = [
    "text/html", "application/xhtml+xml", "text/xml", "application/xml", "application/rss+xml", "application/atom+xml",
    "application/rdf+xml", "text/plain",
]  # fmt: skip

# PDF files are fetched and read too: their text is found, and is slow to get at (each has a process of its own).
PARSE_PDF = False

# What pages ask of crawlers. Each can be switched off, for a site of one's own.
OBEY_META_ROBOTS = True  # <meta name="robots">, and one that names the first word of USER_AGENT
OBEY_X_ROBOTS_TAG = True  # the same as a header
OBEY_NOFOLLOW = True  # links marked nofollow, ugc or sponsored are not followed: nobody vouches for them
OBEY_CANONICAL = True  # a page that calls itself a copy leads to the original, and says so in its item

# --- Traps -----------------------------------------------------------------------------------

# Pages without end, known by their URL (crawler/traps.py). The limits are meant to pass everything that people publish;
# 0 switches a rule off. A link beyond one of them is dropped and counted: `frontier why URL` names the rule.
TRAP_PATH_SEGMENTS = 25  # Java sources on GitHub have 20
TRAP_PATH_REPEATS = 3  # /a/b/a/b/a/b: so often in a row; numbers may repeat
TRAP_PATH_SAME_SEGMENT = 5  # /a/x/a/y/a/z/a/b/a: so often in all
TRAP_SEGMENT_BYTES = 255  # of one segment, unescaped: what file systems and MediaWiki allow
TRAP_TOKEN_LENGTH = 128  # letters and digits in a row, as in base64; a SHA-512 is just as long
TRAP_QUERY_PARAMETERS = 20  # in one query
TRAP_QUERY_SAME_PARAMETER = 8  # color=red&color=blue…
TRAP_YEARS_PAST = 30  # dates before that are a trap in a calendar, and nowhere else: archives are old
TRAP_YEARS_FUTURE = 5  # dates after that are a trap wherever they are certainly dates
TRAP_SESSION_IDS = True  # in the path, /(S(…))/, or in a parameter of unknown name; known names are cut from the URL
# Queries of three parameters or more that a worker takes of one path: filters that combine. Counted by each worker for
# itself, in bounded memory.
TRAP_QUERIES_PER_PATH = 10_000

# --- Download --------------------------------------------------------------------------------

# Ours is cheaper than Scrapy's, looks at the address it connects to, and has limits where a hostile server would like
# to have none. Scrapy's own default also leaves file:, data:, s3: and ftp: open to any link.
DOWNLOAD_HANDLERS = {
    "http": "crawler.render.handler.RenderHandler",
    "https": "crawler.render.handler.RenderHandler",
    "data": None,
    "file": None,
    "ftp": None,
    "s3": None,
}
DOWNLOAD_VERIFY_CERTIFICATES = True
DOWNLOAD_TIMEOUT = 15  # seconds for everything from the first packet to the last
DOWNLOAD_CONNECT_SECONDS = 5.0  # for an address to accept a connection, TLS included
DOWNLOAD_FIRST_BYTE_SECONDS = 5.0  # for the server to think: until all headers are here
# A body of which fewer than this many bytes a second come in, over so many seconds, is not waited for: a few servers
# that drip could otherwise hold every slot of a worker. A rate of 0 waits for all.
DOWNLOAD_SLOWEST_RATE = 512.0
DOWNLOAD_SLOW_SECONDS = 10.0
DOWNLOAD_MAXSIZE = 10 * 1024 * 1024  # bytes of a page, as decoded; meta download_maxsize changes both for one request
DOWNLOAD_RAW_MAXSIZE = 10 * 1024 * 1024  # and as sent: an encoding may also make a body larger
DOWNLOAD_WARNSIZE = 0  # not looked at
DOWNLOAD_HEADER_LINE_BYTES = 32 * 1024  # the longest header that is read; the longest in the wild are cookies and CSPs
DOWNLOAD_HEADER_BYTES = 64 * 1024  # all headers of an answer
DOWNLOAD_MAX_HEADERS = 256  # and their number
DOWNLOAD_KEEP_ALIVE_SECONDS = 5.0  # idle connections are kept this long: longer costs sockets in a crawl of many hosts
DNS_TIMEOUT = 5  # seconds; a name that takes longer is as good as none
DNS_THREADS = 16  # lookups at a time: the system's resolver blocks
DNSCACHE_SIZE = 10_000  # names
DNS_CACHE_SECONDS = 300.0  # the system's resolver does not tell the TTL; five minutes is what most have
DNS_FAILURE_SECONDS = 30.0  # a name without an address is asked for again after this long

# --- Rendering -------------------------------------------------------------------------------

# Pages made by JavaScript, in the system's chromium. meta["render"] = True, False or "auto" decides for one request.
RENDER = False  # every page
RENDER_AUTO = False  # pages that are empty without JavaScript
RENDER_BROWSER = ""  # a program; by default chromium, chromium-browser or google-chrome from PATH
RENDER_SECONDS = 30.0  # a page that takes longer is cut, and kept as it came
RENDER_PAGES_AT_ONCE = 4  # per worker; each takes about 100 MB while it lasts
RENDER_PAGES_PER_BROWSER = 200  # then the browser is started anew, because browsers leak
RENDER_MAX_REQUESTS = 100  # scripts and data that one page may load; each takes a token of its host

EXTENSIONS = {
    "crawler.render.chromium.BrowserCheck": 0,
    "crawler.job.garbage.GarbageCollection": 0,  # a tenth of a worker's CPU time
}

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
    # The handler decodes, in steps that a bomb cannot blow up.
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "crawler.middlewares.egress.EgressMiddleware": 50,
    "crawler.middlewares.robots.RobotsMiddleware": 100,
    "crawler.middlewares.outcome.OutcomeMiddleware": 550,
    # Nearer to the downloader than the outcome: of an error in JSON only the status matters, and that decides there.
    "crawler.middlewares.content_type.ContentTypeMiddleware": 560,
    "crawler.middlewares.recrawl.RecrawlMiddleware": 570,  # sees bodies decoded, and an answer before outcome judges it
    "crawler.middlewares.politeness.PolitenessMiddleware": 900,  # next to the downloader: what it holds it gives back
}
PAGE_LOG = True  # one JSON line per page in DATA_DIR/crawls/<crawl>/pages.jsonl
ITEM_PIPELINES = {
    "crawler.pipelines.keep.KeepPipeline": 200,  # before the log: what is in the log is safe
    "crawler.pipelines.pages.PageLogPipeline": 300,
}
STORE_PAGES = True  # bodies, in STORE_URL: what everything else can be made from again
INDEX_MAIN_TEXT = False  # without menus, headers and footers; smaller, and now and then it misses a part of the page
INDEX_PAGES = True  # texts, in INDEX_URL, so that pages can be found
# Equal pages of a crawl are stored once, and similar ones say of whom they are: about 100 bytes of Redis a page.
FIND_DUPLICATES = True
# What waits on disk, in DATA_DIR/spool, for a store or an index that is away; each may have so much, then the crawl
# waits too. Of WARC files for S3 each worker may have so much besides, in DATA_DIR/uploads.
SPOOL_BYTES = 1024**3
# Pages can be found so many seconds after they were fetched: the embedded index is written in rounds, and one with
# hundreds of pages costs as much as one with a few.
INDEX_ROUND_SECONDS = 3.0

# Formats for -o and -O. Scrapy's own CSV lets a page's title be a formula in somebody's spreadsheet.
FEED_EXPORTERS = {
    "csv": "crawler.export.safe_csv.SafeCsvItemExporter",
    "parquet": "crawler.export.parquet.ParquetItemExporter",
}

LOG_LEVEL = "INFO"
LOG_FORMATTER = "crawler.job.log_formatter.LogFormatter"  # no records of every page that nobody reads
# Scrapy looks at every callback anew for every page, for one to two percent of the CPU time. On for writing spiders.
WARN_ON_GENERATOR_RETURN_VALUE = False
LOGSTATS_INTERVAL = 60.0

globals().update(overrides_from_environment(globals()))
