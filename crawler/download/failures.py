"""What went wrong, in Scrapy's words? aiohttp's exceptions become Scrapy's, or ours where those say too little."""

import ssl

import aiohttp
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from crawler.download.connector import SocketRefused, StaleConnection
from crawler.download.errors import AddressRefused, BadAnswer, TlsFailed

# OpenSSL's verify codes, for the faults that people ask about.
_CERTIFICATE_FAULTS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    19: "is self-signed, or from an authority of the site's own",
    20: "is from an unknown authority, or a link of its chain is missing",
    21: "is from an unknown authority, or a link of its chain is missing",
    62: "is for another name",
    64: "is for another address",
}


def translate(error: Exception, url: str, connect_seconds: float) -> Exception:
    match error:
        case aiohttp.ClientConnectorCertificateError(certificate_error=ssl.SSLCertVerificationError() as cause):
            return TlsFailed(f"{url}: {_describe_certificate(cause)}")
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError() | ssl.SSLError():
            return TlsFailed(f"{url}: TLS failed: {_first_line(error)}")
        case aiohttp.ClientConnectorDNSError():
            return CannotResolveHostError(str(error))
        case aiohttp.ClientConnectorError(os_error=SocketRefused() as cause):
            return AddressRefused(str(cause))
        case aiohttp.ConnectionTimeoutError():
            return DownloadTimeoutError(f"{url}: no connection within {connect_seconds:g} s")
        case aiohttp.ServerTimeoutError() | TimeoutError():
            return DownloadTimeoutError(f"{url}: {error}")
        case aiohttp.ClientConnectorError():
            return DownloadConnectionRefusedError(f"{url}: {error}")
        case aiohttp.InvalidURL():
            return UnsupportedURLSchemeError(f"{url}: {error}")
        case aiohttp.ClientHttpProxyError():
            return DownloadFailedError(f"{url}: the proxy answered {error.status} {error.message}")
        case aiohttp.ClientResponseError():
            return BadAnswer(f"{url} did not answer in HTTP: {_first_line(error)}")
        case aiohttp.ClientPayloadError():
            return ResponseDataLossError(f"{url}: the body ended early: {_first_line(error)}")
        case aiohttp.ClientError() | OSError() | StaleConnection():
            return DownloadFailedError(f"{url}: the connection broke: {_first_line(error)}")
        case ValueError():  # such as a line break in a header
            return DownloadFailedError(f"{url}: this request cannot be sent: {error}")
    return error


def _describe_certificate(error: ssl.SSLCertVerificationError) -> str:
    words = _CERTIFICATE_FAULTS.get(error.verify_code, "is not acceptable")
    return f"its certificate {words} ({error.verify_message})"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
