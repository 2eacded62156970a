"""OpenSearch 2 and 3, through its own client: Elasticsearch's refuses every other server. See also remote.py."""

import logging
from typing import Any

import aiohttp
from opensearchpy import AsyncOpenSearch, exceptions

from crawler.errors import EngineRefused, EngineUnavailable
from crawler.search.remote import RemoteIndex

# It logs every request, and one that failed with a stack: what has to be known of it is said in one line, by us.
logging.getLogger("opensearch").setLevel(logging.ERROR)


class OpenSearchIndex(RemoteIndex):
    product = "OpenSearch"
    _client: AsyncOpenSearch | None = None

    async def _connect(self) -> None:
        if self._client is not None:
            return
        config = self._config
        options: dict[str, Any] = {**self._trust()}
        if config.user:
            options["http_auth"] = (config.user, config.password)
        try:
            # What is tried again, and when, is decided in bulk.py and by the spool.
            self._client = AsyncOpenSearch(
                config.server, max_retries=0, retry_on_timeout=False, retry_on_status=(), **options
            )
        except (ValueError, exceptions.OpenSearchException) as error:
            raise EngineRefused(f"{config.url} cannot be used: {error}; check INDEX_URL") from error

    async def _perform(
        self, method: str, path: str, params: dict[str, str], body: bytes | None, kind: str, timeout_seconds: float
    ) -> tuple[int, Any]:
        if self._client is None:
            raise EngineUnavailable(f"{self._config.url} is not open")
        headers = {"accept": "application/json", **({"content-type": kind} if body is not None else {})}
        options: dict[str, Any] = {**params, "request_timeout": timeout_seconds}
        try:
            answer = await self._client.transport.perform_request(
                method, path, params=options, headers=headers, body=body
            )  # fmt: skip
        except exceptions.ConnectionError as error:
            if isinstance(error.info, aiohttp.ClientSSLError):
                raise self._refuse_tls(error.info) from error
            why = str(error.info) or type(error.info).__name__
            raise EngineUnavailable(f"{self._config.url} does not answer: {type(error).__name__}: {why}") from error
        except exceptions.TransportError as error:
            return int(error.status_code), error.info
        except exceptions.SerializationError as error:
            raise self._not_json() from error
        return 200, answer

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
