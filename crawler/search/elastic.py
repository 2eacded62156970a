"""Elasticsearch 9, through its own client. Which index, which user: ``INDEX_URL`` (opening.py)."""

import logging
from typing import Any

import elastic_transport
from elasticsearch import ApiError, AsyncElasticsearch, UnsupportedProductError

from crawler.errors import EngineRefused, EngineUnavailable
from crawler.search.remote import RemoteIndex

API_KEY_USER = "apikey"  # elasticsearch+https://apikey:KEY@host:9200/pages

NOT_ACCEPTABLE = 406  # what OpenSearch, and an Elasticsearch before 9, say to the media types of this client

# It logs every request, and one that failed with a stack: what has to be known of it is said in one line, by us.
logging.getLogger("elastic_transport").setLevel(logging.ERROR)


class ElasticIndex(RemoteIndex):
    product = "Elasticsearch"
    _client: AsyncElasticsearch | None = None

    async def _connect(self) -> None:
        if self._client is not None:
            return
        config = self._config
        options: dict[str, Any] = {**self._trust()}
        if config.user == API_KEY_USER:
            options["api_key"] = config.password
        elif config.user:
            options["basic_auth"] = (config.user, config.password)
        try:
            # What is tried again, and when, is decided in bulk.py and by the spool.
            self._client = AsyncElasticsearch(config.server, max_retries=0, retry_on_timeout=False, **options)
        except ValueError as error:
            raise EngineRefused(f"{config.url} cannot be used: {error}; check INDEX_URL") from error

    async def _perform(
        self, method: str, path: str, params: dict[str, str], body: bytes | None, kind: str, timeout_seconds: float
    ) -> tuple[int, Any]:
        if self._client is None:
            raise EngineUnavailable(f"{self._config.url} is not open")
        headers = {"accept": "application/json", **({"content-type": kind} if body is not None else {})}
        client = self._client.options(request_timeout=timeout_seconds)
        try:
            answer = await client.perform_request(method, path, params=params, headers=headers, body=body)
        except ApiError as error:
            if error.meta.status == NOT_ACCEPTABLE:
                raise self._refuse_product() from error
            return error.meta.status, error.body
        except UnsupportedProductError as error:
            raise self._refuse_product() from error
        except elastic_transport.TlsError as error:
            raise self._refuse_tls(error.message) from error
        except elastic_transport.SerializationError as error:
            raise self._not_json() from error
        except elastic_transport.TransportError as error:
            raise EngineUnavailable(
                f"{self._config.url} does not answer: {type(error).__name__}: {error.message}"
            ) from error
        return answer.meta.status, answer.body

    def _refuse_product(self) -> EngineRefused:
        return EngineRefused(
            f"what answers at {self._config.url} is no Elasticsearch 9; "
            "if it is OpenSearch, INDEX_URL must begin with opensearch+"
        )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
