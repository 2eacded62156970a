"""What Elasticsearch and OpenSearch have in common: everything but the client that speaks to them.

``INDEX_URL`` names an alias. Behind it is one index, ``pages-000001`` at first; ``clear`` makes another and moves the
alias in one step, so that nobody who writes or searches meanwhile finds nothing there. Writing asks for the alias: an
index that somebody deleted is never made anew by the server with a mapping that it guessed.
"""

import asyncio
import logging
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from crawler.errors import BadQuery, EngineRefused, EngineUnavailable
from crawler.search import completion
from crawler.search.bulk import BulkWriter, describe
from crawler.search.document import Document
from crawler.search.dsl import build_search
from crawler.search.index import Hit, Hits, IndexStats, Poison
from crawler.search.mapping import VERSION, choose_stems, describe_index, read_source
from crawler.search.opening import IndexConfig
from crawler.search.query import Query

log = logging.getLogger(__name__)

JSON = "application/json"
LINES = "application/x-ndjson"
LANGUAGES_SECONDS = 60.0  # for so long the list of languages in the index is taken as known
MOST_LANGUAGES = 40
READ_AT_ONCE = 250
# An index that is cleared while it is searched answers 503 until the alias leads to the other one; or, when it is
# caught in the act, 400 "this Analyzer is closed", which is no fault of the query.
SEARCH_AGAIN_SECONDS = (0.05, 0.2, 0.5)
CLOSING = ("already_closed_exception", "is closed")
MOST_CLEARINGS = 10  # by others, while this one tries
OPTIMISE_SECONDS = 3600.0  # merging a large index takes its time


class RemoteIndex(ABC):
    product: str

    def __init__(self, config: IndexConfig) -> None:
        self._config = config
        self._path = f"/{config.name}"
        self._languages: list[str] = []
        self._languages_until = 0.0
        self._writer = BulkWriter(
            self._send_bulk, self._make_if_missing, config.batch_documents, config.batch_bytes
        )  # fmt: skip

    # --- The client --------------------------------------------------------------------------

    @abstractmethod
    async def _connect(self) -> None: ...

    @abstractmethod
    async def _perform(
        self, method: str, path: str, params: dict[str, str], body: bytes | None, kind: str, timeout_seconds: float
    ) -> tuple[int, Any]:
        """The status, also of errors, and the answer as read from JSON. Raises EngineUnavailable if there is none."""

    @abstractmethod
    async def close(self) -> None: ...

    def _trust(self) -> dict[str, ssl.SSLContext]:
        """What a client is told about TLS. Our own context, because Elasticsearch's client does not look whom a
        certificate was made for when the host is an address.
        """
        config = self._config
        if not config.server.startswith("https:"):
            if config.ca_file:
                raise EngineRefused(f"INDEX_CA_FILE is {config.ca_file}, and {config.url} is not reached by https")
            return {}
        try:
            return {"ssl_context": ssl.create_default_context(cafile=config.ca_file)}
        except OSError as error:
            raise EngineRefused(f"INDEX_CA_FILE is {config.ca_file}, which cannot be used: {error}") from error

    def _refuse_tls(self, said: object) -> EngineRefused:
        if "CERTIFICATE_VERIFY_FAILED" in str(said):
            return EngineRefused(
                f"the certificate of {self._config.url} is not trusted: {said}; check the host in INDEX_URL, and name "
                "the authority in INDEX_CA_FILE"
            )
        return EngineRefused(f"{self._config.url} does not speak TLS with us: {said}; is it to be reached by http?")

    def _not_json(self) -> EngineUnavailable:
        """A gateway that has trouble says so in HTML, which may pass; but it may be another server altogether."""
        return EngineUnavailable(f"what {self._config.url} answers is no JSON: check that it is {self.product}")

    async def _ask(
        self, method: str, path: str, body: object = None, *, accepted: tuple[int, ...] = (),
        timeout_seconds: float = 0.0, kind: str = JSON, **params: str,
    ) -> tuple[int, Any]:  # fmt: skip
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        timeout_seconds = timeout_seconds or self._config.timeout_seconds
        status, answer = await self._perform(method, path, params, data, kind, timeout_seconds)
        if status < 300 and isinstance(answer, str | bytes):  # Elasticsearch's client reads pages as well
            raise self._not_json()
        if status < 300 or status in accepted:
            return status, answer
        where = f"{self.product} at {self._config.url} answered {status}: {describe(answer)}"
        if status in (401, 403):
            raise EngineRefused(f"{where}; check the user and password in INDEX_URL, and the rights of that user")
        if status in (408, 429) or status >= 500:
            raise EngineUnavailable(where)
        raise EngineRefused(where)

    async def _send_bulk(self, lines: bytes) -> tuple[int, Any]:
        return await self._ask(
            "POST", f"{self._path}/_bulk", lines, kind=LINES, accepted=(413, 429),
            require_alias="true", filter_path="items.*.status,items.*.error",
        )  # fmt: skip

    # --- The index itself --------------------------------------------------------------------

    async def open(self) -> None:
        await self._connect()
        try:
            await self._make_if_missing()
        except BaseException:
            await self.close()
            raise

    async def _make_if_missing(self) -> None:
        if not (answer := await self._read_mappings()):
            await self._make(f"{self._config.name}-000001", with_alias=True)
            answer = await self._read_mappings()
        for name, index in answer.items():
            if name == self._config.name:
                raise EngineRefused(
                    f"{self._config.url}: {name!r} is an index and not an alias of one, so it was not made by us; "
                    "name another in INDEX_URL"
                )
            version = index["mappings"].get("_meta", {}).get("orbweaver")
            if version != VERSION:
                raise EngineRefused(
                    f"{self._config.url}: the mapping of the index {name!r} has version {version}, and this program "
                    f"needs version {VERSION}; name another index in INDEX_URL and run: scrapy search --rebuild"
                )

    async def _read_mappings(self) -> dict[str, Any]:
        """Of the index behind the alias, by its name; empty if there is none."""
        _, answer = await self._ask("GET", f"{self._path}/_mapping", ignore_unavailable="true")
        return dict(answer)

    async def _make(self, name: str, *, with_alias: bool) -> None:
        """Two workers may do this at once: the second finds it made."""
        aliases = {"aliases": {self._config.name: {"is_write_index": True}}} if with_alias else {}
        for with_analysis in (True, False):
            body = describe_index(with_analysis=with_analysis) | aliases
            status, answer = await self._ask("PUT", f"/{name}", body, accepted=(400,))
            if status != 400 or "already_exists" in describe(answer):
                return
            if "failed to find" not in describe(answer) and "nknown" not in describe(answer):
                break
            log.warning(
                "%s at %s has no analysis module (%s): stems and accents will not be recognised",
                self.product, self._config.url, describe(answer, 200),
            )  # fmt: skip
        raise EngineRefused(f"{self._config.url}: the index {name!r} cannot be made: {describe(answer)}")

    async def clear(self) -> None:
        # By the nanosecond: two who clear at the same time must not take each other's new index for their own.
        fresh = f"{self._config.name}-{time.time_ns():x}"
        await self._make(fresh, with_alias=False)
        try:
            await self._lead_alias_to(fresh)
        except EngineRefused:  # when nothing was answered, the alias may lead there already
            await self._ask("DELETE", f"/{fresh}")
            raise
        self._forget_languages()

    async def _lead_alias_to(self, fresh: str) -> None:
        for _ in range(MOST_CLEARINGS):
            actions: list[dict[str, Any]] = [{"remove_index": {"index": old}} for old in await self._read_mappings()]
            actions.append({"add": {"index": fresh, "alias": self._config.name, "is_write_index": True}})
            status, answer = await self._ask("POST", "/_aliases", {"actions": actions}, accepted=(404,))
            if status != 404:
                return
            # Somebody else has cleared it since its name was read.
        raise EngineRefused(f"{self._config.url} cannot be cleared: {describe(answer)}")

    async def optimise(self) -> None:
        await self._ask(
            "POST", f"{self._path}/_forcemerge", timeout_seconds=OPTIMISE_SECONDS, max_num_segments="1"
        )  # fmt: skip

    async def stats(self) -> IndexStats:
        _, nodes = await self._ask("GET", "/_nodes/_local", filter_path="nodes.*.version")
        version = next(iter(nodes["nodes"].values()))["version"]
        _, answer = await self._ask("GET", f"{self._path}/_stats/docs,store")
        total = answer["_all"]["primaries"]
        return IndexStats(
            documents=total["docs"]["count"], bytes=total["store"]["size_in_bytes"], engine=f"{self.product} {version}"
        )

    # --- Documents ---------------------------------------------------------------------------

    async def write(self, documents: Sequence[Document]) -> list[Poison]:
        poison = await self._writer.write(documents)
        if any(choose_stems(document.lang) not in self._languages for document in documents):
            self._forget_languages()
        return poison

    async def refresh(self) -> None:
        await self._ask("POST", f"{self._path}/_refresh")
        self._forget_languages()

    async def get(self, id_: str) -> Document | None:
        if not id_:
            return None
        _, answer = await self._ask("POST", f"{self._path}/_mget", {"ids": [id_]})
        [found] = answer["docs"]
        if error := found.get("error"):
            raise EngineUnavailable(f"{self._config.url} cannot read {id_!r}: {describe(error)}")
        return read_source(found["_source"]) if found["found"] else None

    async def delete(self, ids: Sequence[str]) -> None:
        """Whole or not at all is not promised; to delete again is harmless."""
        for start in range(0, len(ids), self._config.batch_documents):
            some = ids[start : start + self._config.batch_documents]
            lines = b"".join(msgspec.json.encode({"delete": {"_id": id_}}) + b"\n" for id_ in some if id_)
            if not lines:
                continue
            _, answer = await self._ask("POST", f"{self._path}/_bulk", lines, kind=LINES, require_alias="true")
            failed = [item["delete"] for item in answer["items"] if item["delete"]["status"] not in (200, 404)]
            if failed:
                raise EngineUnavailable(
                    f"{len(failed)} of {len(some)} documents were not deleted: {describe(failed[0].get('error'))}"
                )

    async def documents(self) -> AsyncIterator[Document]:
        """By id, each request for itself: it outlives a restart of the server, and holds nothing open there."""
        after: list[str] = []
        while True:
            body = {
                "size": READ_AT_ONCE,
                "sort": [{"id": "asc"}],
                "query": {"match_all": {}},
                "track_total_hits": False,
            }
            if after:
                body["search_after"] = after
            answer = await self._search(body)
            hits = answer["hits"]["hits"]
            for hit in hits:
                yield read_source(hit["_source"])
            if len(hits) < READ_AT_ONCE:
                return
            after = hits[-1]["sort"]

    # --- Questions ---------------------------------------------------------------------------

    async def search(self, query: Query) -> Hits:
        body = build_search(query, await self._know_languages(), self._config.timeout_seconds)
        answer = await self._search(body)
        total = answer["hits"]["total"]
        hits = [Hit(read_source(hit["_source"]), hit["_score"] or 0.0) for hit in answer["hits"]["hits"]]
        is_exact = total["relation"] == "eq" and not answer["timed_out"] and not answer["_shards"]["failed"]
        return Hits(hits, total["value"], is_exact)

    async def _search(self, body: dict[str, Any]) -> Any:
        for pause_seconds in (*SEARCH_AGAIN_SECONDS, 0.0):
            accepted = (400, 503) if pause_seconds else (400,)
            status, answer = await self._ask("POST", f"{self._path}/_search", body, accepted=accepted)
            if status == 200:
                return answer
            said = describe(answer)
            if status == 400 and not any(sign in said for sign in CLOSING):
                raise BadQuery(f"the index cannot answer this search: {said}")
            await asyncio.sleep(pause_seconds)
        raise EngineUnavailable(f"{self._config.url} is being cleared, and can be searched again in a moment: {said}")

    async def complete(self, prefix: str, most: int) -> list[str]:
        body = completion.build_completion(prefix, most)
        if body is None:
            return []
        answer = await self._search(body)
        return completion.read_completion(prefix, most, answer)

    async def correct(self, words: Sequence[str]) -> dict[str, str]:
        body = completion.build_correction(words)
        if body is None:
            return {}
        answer = await self._search(body)
        return completion.read_correction(words, answer)

    async def _know_languages(self) -> list[str]:
        """Stems of each language are a field: only those are asked that the index has pages in."""
        if time.monotonic() >= self._languages_until:
            body = {"size": 0, "track_total_hits": False, "aggs": {"by": {"terms": {"field": "language", "size": 100}}}}
            answer = await self._search(body)
            codes = [bucket["key"] for bucket in answer["aggregations"]["by"]["buckets"]]
            suffixes = dict.fromkeys(choose_stems(code) for code in ["", *codes])
            self._languages = [suffix for suffix in suffixes if suffix][:MOST_LANGUAGES]
            self._languages_until = time.monotonic() + LANGUAGES_SECONDS
        return self._languages

    def _forget_languages(self) -> None:
        self._languages_until = 0.0
