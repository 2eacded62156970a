"""Why did a URL end, or never begin? Every way has one name here, used in Redis, logs, commands and documents."""

from enum import StrEnum


class Drop(StrEnum):
    """The URL was never accepted."""

    DUPLICATE = "duplicate"
    BAD_URL = "bad_url"
    BAD_SCHEME = "bad_scheme"
    TOO_LONG = "too_long"
    TOO_DEEP = "too_deep"
    OFF_SCOPE = "off_scope"  # a host that was not seeded
    PRIVATE_ADDRESS = "private_address"
    HOST_CAP = "host_cap"
    NOT_SCHEDULED = "not_scheduled"  # the strategy did not want it
    TOO_MANY_LINKS = "too_many_links"  # its page had more than one page may add
    NOT_INCLUDED = "not_included"
    EXCLUDED = "excluded"
    HOST_DENIED = "host_denied"
    HOST_NOT_ALLOWED = "host_not_allowed"
    NOT_HTML = "not_html"  # its name ends as no page's does
    TRAP_REPETITION = "trap_repetition"
    TRAP_SEGMENTS = "trap_segments"
    TRAP_PARAMETERS = "trap_parameters"
    TRAP_BLOB = "trap_blob"
    TRAP_CALENDAR = "trap_calendar"
    TRAP_SESSION = "trap_session"
    TRAP_QUERIES = "trap_queries"
    NOFOLLOW = "nofollow"  # its page asked not to follow it
    CANNOT_TRAVEL = "cannot_travel"  # a Request with something in it that cannot be queued


class Dead(StrEnum):
    """The URL was accepted and will not be fetched again."""

    HTTP_ERROR = "http_error"  # the detail holds the status
    TIMEOUT = "timeout"
    DNS = "dns"
    CONNECTION = "connection"
    TLS = "tls"  # the detail says what is wrong with the certificate
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    NOT_HTML = "not_html"  # the detail holds the Content-Type
    BAD_RESPONSE = "bad_response"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    BAD_REDIRECT = "bad_redirect"
    ROBOTS = "robots"  # the detail holds the line
    ROBOTS_UNREACHABLE = "robots_unreachable"
    PRIVATE_ADDRESS = "private_address"
    CALLBACK_ERROR = "callback_error"
    PIPELINE_ERROR = "pipeline_error"
    IGNORED = "ignored"  # a middleware or the spider raised IgnoreRequest
    HOST_CAP = "host_cap"
    CRASHED = "crashed"  # its workers died, again and again
    POISONED = "poisoned"  # the queue held something that is no entry of ours


EXPLANATIONS: dict[str, str] = {
    Drop.DUPLICATE: "it was already accepted",
    Drop.BAD_URL: "it is not a URL",
    Drop.BAD_SCHEME: "only http and https are crawled",
    Drop.TOO_LONG: "it is longer than a URL may be",
    Drop.TOO_DEEP: "it is more links away from a seed than MAX_DEPTH allows",
    Drop.OFF_SCOPE: "its host was not seeded (FOLLOW_HOSTS=all follows links everywhere)",
    Drop.PRIVATE_ADDRESS: "its address is private or of this machine (--allow-private allows it)",
    Drop.HOST_CAP: "its host already had MAX_PAGES_PER_HOST pages",
    Drop.NOT_SCHEDULED: "the strategy did not schedule it",
    Drop.TOO_MANY_LINKS: "its page had more links than are taken from one page",
    Drop.NOT_INCLUDED: "it matches none of the patterns in INCLUDE",
    Drop.EXCLUDED: "it matches a pattern in EXCLUDE",
    Drop.HOST_DENIED: "its host is on the list in HOSTS_DENY_FILE",
    Drop.HOST_NOT_ALLOWED: "its host is not on the list in HOSTS_ALLOW_FILE",
    Drop.NOT_HTML: "it is a file and no page, by its name or by its type (SKIP_EXTENSIONS, ALLOWED_CONTENT_TYPES)",
    Drop.TRAP_REPETITION: "it looks like a trap: its path repeats itself (TRAP_PATH_REPEATS, TRAP_PATH_SAME_SEGMENT)",
    Drop.TRAP_SEGMENTS: "it looks like a trap: its path has more than TRAP_PATH_SEGMENTS segments",
    Drop.TRAP_PARAMETERS: "it looks like a trap: it has more parameters than TRAP_QUERY_PARAMETERS, or one of them "
    "more often than TRAP_QUERY_SAME_PARAMETER",
    Drop.TRAP_BLOB: "it looks like a trap: a part of it is too long (TRAP_SEGMENT_BYTES, TRAP_TOKEN_LENGTH)",
    Drop.TRAP_CALENDAR: "it looks like a trap: a calendar, too far from today (TRAP_YEARS_PAST, TRAP_YEARS_FUTURE)",
    Drop.TRAP_SESSION: "it looks like a trap: there is a session id in it (TRAP_SESSION_IDS)",
    Drop.TRAP_QUERIES: "it looks like a trap: its page had TRAP_QUERIES_PER_PATH other queries before",
    Drop.NOFOLLOW: "the page that links to it asks not to follow the link (OBEY_NOFOLLOW, OBEY_META_ROBOTS)",
    Drop.CANNOT_TRAVEL: "the request held something that cannot be queued",
    Dead.HTTP_ERROR: "the server answered with an error",
    Dead.TIMEOUT: "the server did not answer in time, on every attempt",
    Dead.DNS: "its host name does not resolve",
    Dead.CONNECTION: "no connection, or it broke, on every attempt",
    Dead.TLS: "no secure connection: its certificate, or its TLS, is not acceptable",
    Dead.TOO_SLOW: "the page came in slower than DOWNLOAD_SLOWEST_RATE, on every attempt",
    Dead.TOO_LARGE: "the page is larger than DOWNLOAD_MAXSIZE",
    Dead.BAD_RESPONSE: "the server's answer could not be read",
    Dead.TOO_MANY_REDIRECTS: "it was redirected too often",
    Dead.BAD_REDIRECT: "it was redirected to nowhere",
    Dead.ROBOTS: "robots.txt disallows it",
    Dead.ROBOTS_UNREACHABLE: "its robots.txt cannot be had, which RFC 9309 reads as a no",
    Dead.CALLBACK_ERROR: "the spider's callback raised an error",
    Dead.PIPELINE_ERROR: "an item pipeline raised an error",
    Dead.IGNORED: "a middleware or the spider ignored it",
    Dead.CRASHED: "the workers that fetched it died, again and again",
    Dead.POISONED: "the queue held something that is no entry of this version",
}
