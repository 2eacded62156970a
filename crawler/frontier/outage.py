"""Redis answered with an error: does waiting help? ``connection.py`` asks."""

import re
import ssl
import traceback

from redis.exceptions import (
    AuthenticationError,
    AuthenticationWrongNumberOfArgsError,
    AuthorizationError,
    ClusterError,
    ConnectionError,
    NoPermissionError,
    RedisClusterException,
    RedisError,
    SlotNotCoveredError,
    TimeoutError,
)

# What redis-py may raise: its cluster errors are no RedisError.
CLIENT_ERRORS = (RedisError, RedisClusterException)
# What it lets slip when a connection closes under a write: see is_torn_write. The last one is uvloop's.
TORN_WRITES = (AttributeError, TypeError, RuntimeError)
POSSIBLE_OUTAGES = (*CLIENT_ERRORS, *TORN_WRITES)

PASSING = {
    "LOADING": "is loading its data: this ends by itself",
    "OOM": "is out of memory: raise its maxmemory, or purge a crawl that is no longer needed",
    "MISCONF": "cannot write to its disk: free some space there",
    "READONLY": "is a read-only replica: a failover is under way, or the address is that of a replica",
    "CLUSTERDOWN": "is a cluster with slots that no node serves: bring its missing nodes back",
    "TRYAGAIN": "is moving keys between nodes: this ends by itself",
    "MASTERDOWN": "is a replica that lost its master: a failover is under way",
    "NOREPLICAS": "has fewer replicas than its min-replicas-to-write: bring them back",
    "BUSY": "is busy with a long script: wait, or end it with SCRIPT KILL",
}
# An error of a command inside a script begins with its code, except in Redis 6.2, where it follows " -".
CODE = re.compile(rf"(?:^|\s-)({'|'.join(PASSING)})\s")


def passing_trouble(error: Exception) -> str | None:
    """What is the matter with Redis and what to do, when waiting helps; None for an error that stays."""
    if refusal(error):
        return None
    code = error_code(error)
    if code:
        return PASSING[code]
    if isinstance(error, RedisClusterException):
        if isinstance(error.__cause__, CLIENT_ERRORS):
            return passing_trouble(error.__cause__)
        text = str(error)
        if isinstance(error, SlotNotCoveredError) or "not covered" in text or "could not agree" in text:
            return PASSING["CLUSTERDOWN"]
        return None
    if is_torn_write(error):
        return "closed the connection: start it, or look at the network"
    if isinstance(error, (ConnectionError, TimeoutError, ClusterError)):
        return f"cannot be reached ({_short(error)}): start it, or look at the network"
    return None


def refusal(error: Exception) -> str | None:
    """Why Redis will not have us, and what to do; None for any other error."""
    if isinstance(error, RedisClusterException):
        if "not enabled" in str(error):
            return "is no cluster: use redis:// instead of redis+cluster://"
        return refusal(error.__cause__) if isinstance(error.__cause__, CLIENT_ERRORS) else None
    if isinstance(error, (AuthenticationError, AuthenticationWrongNumberOfArgsError, AuthorizationError)):
        return f"does not accept the user or password ({error}): correct them in REDIS_URL"
    if isinstance(error, NoPermissionError):
        return f"does not let this user do its work ({error}): give it the rights with ACL SETUSER"
    # The Sentinel client folds what each Sentinel answered into one text.
    if "AuthenticationError" in str(error):
        return "has Sentinels that do not accept the password: give it as ?sentinel_password= in REDIS_URL"
    return None


def is_torn_write(error: Exception) -> bool:
    """redis-py 8.1 does not raise ConnectionError when another task closes the connection just before it is
    written to (its issue 4287, mended after 8.1.0). Told from mistakes of our own by the one function it comes from.
    """
    if not isinstance(error, TORN_WRITES):
        return False
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(
        frame.f_code.co_name == "_send_packed_command" and frame.f_globals["__name__"] == "redis.asyncio.connection"
        for frame in frames
    )


def tls_trouble(error: BaseException | None) -> str | None:
    """Asked only when a connection is first made: later on, a restarting proxy may cause the same."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    if error is None:
        return None
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"shows a certificate that is not trusted ({error.verify_message}): "
            f"give its authority as ?ssl_ca_certs=/path/to/ca.pem in REDIS_URL"
        )
    return f"does not speak TLS with us ({error.reason}): use redis:// if it has no TLS"


def _short(error: Exception) -> str:
    # The Sentinel client appends its whole connection pools.
    text, _, failures = str(error).partition(" : <")
    return f"{text}; a Sentinel did not answer" if failures else text


def error_code(error: Exception) -> str | None:
    code = getattr(error, "status_code", None)
    if code in PASSING:
        return str(code)
    found = CODE.search(str(error))
    return found[1] if found and isinstance(error, RedisError) else None
