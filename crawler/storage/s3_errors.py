"""What does an error of S3 mean for a crawl: may waiting help, or must somebody do something?

Messages are made of the code and status that the server gave, and never of its whole answer or of the client's account
of the request: what is not copied cannot leak.
"""

import re

from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

from crawler.errors import EngineRefused, EngineUnavailable

_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_WHAT_TO_CHECK = {
    "SignatureDoesNotMatch": "the secret key is wrong: check AWS_SECRET_ACCESS_KEY",
    "InvalidAccessKeyId": "the access key is not known there: check AWS_ACCESS_KEY_ID and S3_ENDPOINT_URL",
    "ExpiredToken": "the session has expired: renew AWS_SESSION_TOKEN",
    "InvalidToken": "the session token is not valid: check AWS_SESSION_TOKEN",
    "RequestTimeTooSkewed": "the clock of this machine is wrong: set it",
    "NoSuchBucket": "there is no such bucket: check STORE_URL, create it, or set S3_CREATE_BUCKET",
    "AuthorizationHeaderMalformed": "the region is wrong: check S3_REGION",
    "PermanentRedirect": "the bucket is in another region: check S3_REGION and S3_ENDPOINT_URL",
    "AccessDenied": "this key may not do that: check the policies of the key and of the bucket",
}
# The server is there and this may pass.
_PASSING = {"SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted", "Throttling"}


def explain(error: Exception, place: str) -> EngineUnavailable | EngineRefused:
    """``place`` is the bucket and the server, as the user gave them."""
    if isinstance(error, ClientError):
        code = str(error.response.get("Error", {}).get("Code", ""))
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return _judge(code, status, place)
    if isinstance(error, ConnectionError | HTTPClientError):
        return EngineUnavailable(f"{place} does not answer ({type(error).__name__}): is it running?")
    if isinstance(error, BotoCoreError):
        return EngineRefused(f"{place} cannot be used: {type(error).__name__}; check the AWS_ settings of this machine")
    text = str(error)
    found_code, found_status = _CODE.search(text), _STATUS.search(text)
    if found_status is None:
        return EngineUnavailable(f"{place} does not answer, or broke off: is it running?")
    return _judge(found_code[1] if found_code else "", int(found_status[1]), place)


def _judge(code: str, status: int, place: str) -> EngineUnavailable | EngineRefused:
    if not re.fullmatch(r"\w{1,60}", code) or code.isdigit():  # botocore repeats the status if there is no code
        code = ""
    said = f"{status} {code}".strip()
    if code in _PASSING or status >= 500 or status in (408, 409, 425, 429):
        return EngineUnavailable(f"{place} cannot take it now ({said}); waiting may help")
    advice = _WHAT_TO_CHECK.get(code)
    if advice is None and status == 404:
        advice = _WHAT_TO_CHECK["NoSuchBucket"]
    if advice is None and status in (401, 403):
        advice = _WHAT_TO_CHECK["AccessDenied"]
    return EngineRefused(f"{place} refuses ({said}): {advice or 'check STORE_URL and S3_ENDPOINT_URL'}")
