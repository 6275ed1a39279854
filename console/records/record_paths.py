"""The paths of records: pages, searches, live tails, and single records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...base.topic_partition import TopicPartition
from ...client.record_filter import Candidate, Query, QueryError, compile_query, parse_query
from ...protocol.errors import ErrorCode, KafkaError
from ..audit_log import audit
from ..console import Console
from ..http.event_stream import PING, EventStream, event, event_of_json
from ..http.json_text import json_text
from ..http.path_names import path_name
from ..http.replies import HttpProblem, json_reply
from ..sessions import Session
from .pages import page_of
from .places import Bounds, Place, bounds_of, offsets_at, parse_partitions, parse_place
from .record_json import IN_DETAIL, batch_json, bytes_json, record_json, sha256
from .search import Budget, Search
from .single_record import single_record
from .tail_hub import Tail

MAX_LIMIT = 500
MAX_JSON_BYTES = 1 << 20
BUDGET = Budget()
_TAIL_PAUSE_S = 0.2
_PING_S = 10.0
_TAIL_BATCH = 100


def record_paths(console: Console) -> list[Route]:
    """All paths of records."""
    paths = _Records(console)
    single = "/api/topics/{topic}/partitions/{partition:int}/records/{offset:int}"
    return [
        console.route("/api/filter", paths.check),
        console.route("/api/topics/{topic}/records", paths.page),
        console.route("/api/topics/{topic}/search", paths.search),
        console.route("/api/topics/{topic}/tail", paths.tail),
        console.route(single, paths.single),
        console.route(f"{single}/{{part}}", paths.download),
    ]


class _Records:
    """One method a path."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._details = asyncio.Semaphore(2)

    async def check(self, request: Request, session: Session) -> Response:
        try:
            parse_query(request.query_params.get("query", ""))
        except QueryError as error:
            return json_reply({"valid": False, "error": str(error), "at": error.at})
        return json_reply({"valid": True, "error": None, "at": None})

    async def page(self, request: Request, session: Session) -> Response:
        topic, partitions = await self._chosen(request, session, "page")
        place = parse_place(request.query_params.get("from", "-100"))
        limit = _limit(request)
        page = await page_of(session.cluster, topic, partitions, place, limit, self._console.masks)
        page["cli"] = self._console.cli.records(topic, partitions, place, limit)
        return json_reply(page)

    async def search(self, request: Request, session: Session) -> Response:
        query = _query(request)
        if query is None:
            raise HttpProblem(400, "a search needs a query")
        topic, partitions = await self._chosen(request, session, "search")
        bounds = await self._range(request, session, topic, partitions)
        search = Search(
            session.cluster,
            topic,
            query,
            bounds,
            limit=_limit(request),
            masks=self._console.masks,
            executor=self._console.search_threads,
            budget=BUDGET,
        )
        return EventStream(self._counted(session, "search", search.events()))

    async def tail(self, request: Request, session: Session) -> Response:
        query = _query(request)
        topic, partitions = await self._chosen(request, session, "tail")
        place = parse_place(request.query_params.get("from", "latest"))
        matches = None if query is None else compile_query(query)
        return EventStream(
            self._counted(session, "tail", self._tail_events(session, topic, partitions, place, matches))
        )

    async def single(self, request: Request, session: Session) -> Response:
        at, offset = self._place_of(request, session, "record")
        async with self._details:
            found = await single_record(session.cluster, at, offset)
            value = await asyncio.to_thread(self._console.masks.masked, found.record.value)
            hashes = await asyncio.to_thread(lambda: (sha256(found.record.key), sha256(value)))
            detail = record_json(at.topic, at.partition, found.batch, found.record, value, IN_DETAIL)
        return json_reply(
            {
                **detail,
                "key": bytes_json(found.record.key, IN_DETAIL.key),
                "key_sha256": hashes[0],
                "value_sha256": hashes[1],
                "batch": batch_json(found.batch),
                "cli": self._console.cli.record(at.topic, at.partition, offset),
            }
        )

    async def download(self, request: Request, session: Session) -> Response:
        part = request.path_params["part"]
        if part not in ("key", "value"):
            raise HttpProblem(404, "a record has a key and a value")
        at, offset = self._place_of(request, session, f"download of {part}")
        async with self._details:
            found = await single_record(session.cluster, at, offset)
            data = found.record.key
            if part == "value":
                data = await asyncio.to_thread(self._console.masks.masked, found.record.value)
        if data is None:
            raise HttpProblem(404, f"the {part} is null")
        if request.query_params.get("json") == "1":
            if len(data) > MAX_JSON_BYTES:
                raise HttpProblem(413, f"the {part} has {len(data)} bytes; up to {MAX_JSON_BYTES} are shown as a tree")
            return Response(data, media_type="text/plain; charset=utf-8")
        name = quote(f"{at}-{offset}.{part}", safe="")
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def _chosen(self, request: Request, session: Session, action: str) -> tuple[str, list[int]]:
        """The topic and the partitions of a request; the view is written to the audit log."""
        self._console.check_records_shown()
        topic = path_name(request, "topic")
        there = sorted(each.partition_index for each in (await session.cluster.topic(topic)).partitions)
        partitions = parse_partitions(request.query_params.get("partitions"), there)
        audit(session.user, f"{action} of records", topic=topic, query=request.query_params.get("query"))
        return topic, partitions

    def _place_of(self, request: Request, session: Session, action: str) -> tuple[TopicPartition, int]:
        self._console.check_records_shown()
        at = TopicPartition(path_name(request, "topic"), int(request.path_params["partition"]))
        offset = int(request.path_params["offset"])
        if at.partition >= 1 << 31 or offset >= 1 << 63:
            raise HttpProblem(404, "there is no such record")
        audit(session.user, action, topic=at.topic, partition=at.partition, offset=offset)
        return at, offset

    async def _range(self, request: Request, session: Session, topic: str, partitions: list[int]) -> dict[int, Bounds]:
        """Where a search begins and ends in each partition."""
        bounds = await bounds_of(session.cluster, topic, partitions)
        begins = parse_place(request.query_params.get("from", "earliest"))
        ends = parse_place(request.query_params.get("to", "latest"))
        first = await offsets_at(session.cluster, topic, begins, bounds)
        last = await offsets_at(session.cluster, topic, ends, bounds)
        if begins.kind == "at":  # partitions that are not named were searched before
            first = {each: first[each] if each in dict(begins.offsets) else last[each] for each in bounds}
        return {each: Bounds(min(first[each], last[each]), last[each]) for each in bounds}

    async def _counted(self, session: Session, kind: str, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        try:
            with self._console.stream(session, kind):
                async for each in events:
                    yield each
        except HttpProblem as problem:
            yield event("problem", {"error": str(problem), "code": problem.code})

    async def _tail_events(
        self,
        session: Session,
        topic: str,
        partitions: list[int],
        place: Place,
        matches: Callable[[Candidate], bool] | None,
    ) -> AsyncIterator[bytes]:
        tail: Tail | None = None
        try:
            tail = await session.tails.open(topic, partitions, matches)
            yield PING
            if place.kind != "latest":
                page = await page_of(session.cluster, topic, partitions, place, MAX_LIMIT, self._console.masks)
                before = [each for each in page["records"] if _is_before(each, topic, tail)]
                yield _records_event([json_text(each) for each in before] if matches is None else [], tail)
            while True:
                session.used_s = max(session.used_s, self._console.sessions.now_s())
                try:
                    async with asyncio.timeout(_PING_S):
                        records = await tail.take(_TAIL_BATCH)
                except TimeoutError:
                    yield PING
                    continue
                yield _records_event(records, tail)
                await asyncio.sleep(_TAIL_PAUSE_S)
        except KafkaError as error:
            yield event("problem", {"error": str(error), "code": ErrorCode(error.code).name})
        except OSError as error:
            yield event("problem", {"error": str(error), "code": None})
        finally:
            if tail is not None:
                session.tails.leave(tail)


def _is_before(record: dict[str, Any], topic: str, tail: Tail) -> bool:
    return bool(record["offset"] < tail.starts.get(TopicPartition(topic, record["partition"]), 0))


def _records_event(records: list[str], tail: Tail) -> bytes:
    """`records`: each as JSON."""
    counts = json_text({"skipped": tail.skipped, "matched": tail.matched, "seen": tail.seen})
    return event_of_json("records", f'{{"records":[{",".join(records)}],{counts[1:]}')


def _query(request: Request) -> Query | None:
    text = request.query_params.get("query", "")
    if not text.strip():
        return None
    try:
        return parse_query(text)
    except QueryError as error:
        raise HttpProblem(400, f"at character {error.at}: {error}") from None


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "100")
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_LIMIT):
        raise HttpProblem(400, f"limit must be a whole number from 1 to {MAX_LIMIT}")
    return int(text)
