"""What can go wrong with a download that Scrapy has no exception for? Each is also one of Scrapy's, so that
middlewares and errbacks written for those see nothing new, and carries the reason that the frontier records.

::

    DownloadProblem
    ├── AddressRefused   (CannotResolveHostError)   the address may not be connected to
    ├── TlsFailed        (DownloadFailedError)      certificate or handshake
    ├── BadAnswer        (DownloadFailedError)      it is not HTTP, or its encoding is broken
    ├── TooSlow          (DownloadTimeoutError)     a body that drips
    └── TooLarge         (DownloadCancelledError)   a body over the limit, as sent or as decoded
"""

from typing import ClassVar

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadFailedError,
    DownloadTimeoutError,
)

from crawler.frontier.reasons import Dead


class DownloadProblem(Exception):
    reason: ClassVar[Dead]
    is_final: ClassVar[bool] = False  # trying again is pointless


class AddressRefused(DownloadProblem, CannotResolveHostError):
    reason = Dead.PRIVATE_ADDRESS
    is_final = True


class TlsFailed(DownloadProblem, DownloadFailedError):
    reason = Dead.TLS
    is_final = True


class BadAnswer(DownloadProblem, DownloadFailedError):
    reason = Dead.BAD_RESPONSE


class TooSlow(DownloadProblem, DownloadTimeoutError):
    reason = Dead.TOO_SLOW


class TooLarge(DownloadProblem, DownloadCancelledError):
    reason = Dead.TOO_LARGE
    is_final = True
