"""Answers the requests for /v1: reads the query, calls the function of the resource, and writes its document.

Imported by a worker when the first request comes, because the shapes of all documents take some milliseconds.
**Limits.** `_MADE_AT_ONCE` documents are made at a time. `_SENT_AT_ONCE` documents with many rows are sent at a time,
because their rows take memory until the client has taken them; other such documents are refused meanwhile.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import islice
from typing import Any, NamedTuple

from ...views.clients import Clients
from ...views.events import Events
from ...views.failures import Misdirected
from ...views.index import Index, ResourceSummary
from ...views.json_text import has_many_rows, in_pieces, to_json
from ...views.query import Query, QueryError, read_query
from ...views.requests import SlowRequests
from ...views.resources import RESOURCES
from ...views.traffic import HistoryDocument
from ..events.recent_events import MOST_EVENTS
from ..http.http_error import HttpError
from ..http.request import HttpRequest
from ..http.response import HttpResponse
from ..requests.busiest_clients import busiest_clients
from .broker_detail import describe_broker
from .brokers import list_brokers
from .cluster import describe_cluster
from .events_view import last_events
from .explained_acl import explain_acl
from .group_detail import coordinated_group, describe_group
from .group_watch import GroupWatch
from .groups import list_groups
from .known_state import KnownState
from .own_source import source_of
from .partition_matrix import list_partitions
from .settings_view import list_configs
from .slices import in_slices
from .timeline_view import timeline_of
from .topic_detail import describe_topic
from .topics import list_topics
from .traffic_view import broker_history, topic_history
from .transactions import list_transactions

__all__ = ["Answers"]

_MADE_AT_ONCE = 4
_SENT_AT_ONCE = 4
_MOST_DIGITS = 10


class Known(NamedTuple):
    """The state of the broker, and the last look at its groups."""

    state: KnownState
    groups: GroupWatch


Answer = Callable[[Known, HttpRequest, Query], Awaitable[Any]]
"""Returns the document; raises HttpError when there is none."""


async def _index(known: Known, request: HttpRequest, query: Query) -> Index:
    resources = tuple(ResourceSummary(path=each.path, summary=each.summary) for each in RESOURCES)
    return Index(source=source_of(known.state), resources=resources)


async def _cluster(known: Known, request: HttpRequest, query: Query) -> Any:
    return await describe_cluster(known.state, await known.groups.look())


async def _history(known: Known, request: HttpRequest, query: Query) -> HistoryDocument:
    topic, points = query.text("topic"), query.number("points")
    history = broker_history(known.state, points) if topic is None else topic_history(known.state, topic, points)
    return HistoryDocument(source=source_of(known.state), topic=topic, history=history)


async def _brokers(known: Known, request: HttpRequest, query: Query) -> Any:
    return await list_brokers(known.state)


async def _broker(known: Known, request: HttpRequest, query: Query) -> Any:
    text = request.params["id"]
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise HttpError(404, "a broker id is a whole number")
    return _found(await describe_broker(known.state, int(text)), f"broker {int(text)} is not alive")


async def _partitions(known: Known, request: HttpRequest, query: Query) -> Any:
    return await list_partitions(known.state, query)


async def _topics(known: Known, request: HttpRequest, query: Query) -> Any:
    return await list_topics(known.state, query, (await known.groups.look()).topics)


async def _topic(known: Known, request: HttpRequest, query: Query) -> Any:
    lags = (await known.groups.look()).topics
    return _found(await describe_topic(known.state, request.params["topic"], lags), "there is no such topic")


async def _transactions(known: Known, request: HttpRequest, query: Query) -> Any:
    return await list_transactions(known.state, query)


async def _groups(known: Known, request: HttpRequest, query: Query) -> Any:
    return await list_groups(known.state, query)


async def _group(known: Known, request: HttpRequest, query: Query) -> Any:
    group = coordinated_group(known.state, request.params["group"])
    return group if isinstance(group, Misdirected) else await describe_group(known.state, group)


async def _timeline(known: Known, request: HttpRequest, query: Query) -> Any:
    group = coordinated_group(known.state, request.params["group"])
    return group if isinstance(group, Misdirected) else timeline_of(known.state, group)


async def _clients(known: Known, request: HttpRequest, query: Query) -> Clients:
    listeners = known.state.listeners
    items = await busiest_clients(listeners)
    return Clients(source=source_of(known.state), connections=listeners.connection_count, items=items)


async def _slow_requests(known: Known, request: HttpRequest, query: Query) -> SlowRequests:
    slow = known.state.requests.slow
    items = tuple(islice(slow.newest_first(), query.number("limit")))
    return SlowRequests(source=source_of(known.state), threshold_ms=slow.threshold_ms, items=items)


async def _events(known: Known, request: HttpRequest, query: Query) -> Events:
    return Events(source=source_of(known.state), items=last_events(known.state, MOST_EVENTS))


async def _configs(known: Known, request: HttpRequest, query: Query) -> Any:
    return await list_configs(known.state, query)


async def _explain_acl(known: Known, request: HttpRequest, query: Query) -> Any:
    return explain_acl(known.state, query)


_ANSWERS: dict[str, Answer] = {
    "/v1": _index,
    "/v1/cluster": _cluster,
    "/v1/history": _history,
    "/v1/brokers": _brokers,
    "/v1/brokers/{id}": _broker,
    "/v1/partitions": _partitions,
    "/v1/topics": _topics,
    "/v1/topics/{topic}": _topic,
    "/v1/groups": _groups,
    "/v1/groups/{group}": _group,
    "/v1/groups/{group}/timeline": _timeline,
    "/v1/clients": _clients,
    "/v1/requests/slow": _slow_requests,
    "/v1/events": _events,
    "/v1/transactions": _transactions,
    "/v1/configs": _configs,
    "/v1/explain/acl": _explain_acl,
}


class Answers:
    """The documents of a broker."""

    def __init__(self, state: KnownState) -> None:
        self._known = Known(state, GroupWatch(state))
        self._resources = {resource.path: resource for resource in RESOURCES}
        self._making = asyncio.Semaphore(_MADE_AT_ONCE)
        self._sending: weakref.WeakSet[AsyncIterator[bytes]] = weakref.WeakSet()

    async def answer(self, path: str, request: HttpRequest) -> HttpResponse:
        """Return the document of the resource with this path. Raises HttpError."""
        try:
            query = read_query(self._resources[path], request.query)
        except QueryError as error:
            raise HttpError(400, str(error)) from error
        async with self._making:
            document = await _ANSWERS[path](self._known, request, query)
        if isinstance(document, Misdirected):
            return HttpResponse(421, to_json(document) + b"\n")
        if not has_many_rows(document):
            return HttpResponse(200, to_json(document) + b"\n")
        if len(self._sending) >= _SENT_AT_ONCE:
            raise HttpError(503, "too many large documents are being sent; try again", (("Retry-After", "1"),))
        body = _pieces(document)
        self._sending.add(body)
        return HttpResponse(200, body)


async def _pieces(document: Any) -> AsyncIterator[bytes]:
    async for piece in in_slices(in_pieces(document)):
        yield piece
    yield b"\n"


def _found(document: Any, failure: str) -> Any:
    if document is None:
        raise HttpError(404, failure)
    return document
