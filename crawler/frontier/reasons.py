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
