"""The times of requests by API, in the phases of Kafka's RequestMetrics, which `PHASES` explains.

**How.** A request that is answered at once costs three readings of the clock and a tuple in a list. The numbers of the
list are sorted into the histograms some hundred at a time. A phase that took no time is not counted, so the requests
that are missing from its histogram took 0 ms.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...base.log_buckets import LogBuckets
from ...protocol.apis import API_SPECS, ApiKey
from ..network.request import Request
from ..network.request_timer import NOT_PROMPT, FinishedRequest

__all__ = ["PHASES", "ApiTimes", "RequestTimes"]

PHASES = ("queue", "local", "remote", "throttle", "response_queue", "send", "total")
"""The phases of a request.

queue           from the complete frame to the call of the handler
local           the handler's first step
remote          until the response is known: followers, records, members, worker threads, other brokers
response_queue  behind earlier responses of the connection
send            until the last byte of the response was given to the kernel
throttle        how long the connection is not read afterwards, because of a quota; not a part of the total
total           queue + local + remote + response_queue + send
"""
_MAX_APIS = 256
_FETCH = ApiKey.FETCH.value
_FOLLOWER_FETCH = _MAX_APIS - 1
_MOST_PENDING = 512
_NEVER_S = float("inf")


class ApiTimes:
    """The times of the requests of one API in seconds. ``total`` counts each request."""

    __slots__ = ("local", "name", "pending", "queue", "remote", "request_bytes", "response_queue", "send", "throttle",
                 "total")  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue = LogBuckets()
        self.local = LogBuckets()
        self.remote = LogBuckets()
        self.throttle = LogBuckets()
        self.response_queue = LogBuckets()
        self.send = LogBuckets()
        self.total = LogBuckets()
        self.request_bytes = LogBuckets()
        self.pending: list[tuple[float, float, float, float, int]] = []
        """Total, queue, local, send and size of the last prompt requests, which are not in the histograms yet."""

    def phase(self, name: str) -> LogBuckets:
        """One of `PHASES`."""
        found: LogBuckets = getattr(self, name)
        return found

    def add(self, request: Request, sent_s: float) -> None:
        """Count any request; its times are in its attributes."""
        self.total.add(sent_s - request.received_s)
        self.local.add(request.handled_s - request.started_s)
        self.send.add(sent_s - request.sending_s)
        self.request_bytes.add(request.frame_bytes)
        if request.started_s > request.received_s:
            self.queue.add(request.started_s - request.received_s)
        if request.answered_s > request.handled_s:
            self.remote.add(request.answered_s - request.handled_s)
        if request.sending_s > request.answered_s:
            self.response_queue.add(request.sending_s - request.answered_s)

    def settle(self) -> None:
        """Move the pending numbers into the histograms."""
        if self.pending:
            totals, queues, locals_, sends, sizes = zip(*self.pending, strict=True)
            self.pending.clear()
            self.total.add_all(totals)
            self.queue.add_all([queue_s for queue_s in queues if queue_s])
            self.local.add_all(locals_)
            self.send.add_all(sends)
            self.request_bytes.add_all(sizes)


class RequestTimes:
    """A `RequestTimer`. ``watch_slow`` and ``watch_all`` name who gets finished requests, and when they were sent."""

    def __init__(self, now_s: Callable[[], float] = time.perf_counter) -> None:
        self.now_s = now_s
        self._slow_s = _NEVER_S
        self._slow: Callable[[Request, float], None] = _ignore
        self._each: Callable[[Request, float], None] | None = None
        self._by_key: list[ApiTimes | None] = [None] * _MAX_APIS

    def finished(self, requests: Sequence[FinishedRequest], sent_s: float) -> None:
        """See `RequestTimer`."""
        by_key, slow_since_s, sees_each = self._by_key, sent_s - self._slow_s, self._each is not None
        for finished in requests:
            request, received_s, started_s, handled_s, frame_bytes, _ = finished
            if received_s <= slow_since_s or request.throttle_time_ms or request.is_from_follower or sees_each:
                self._finished_late(with_stages(finished), sent_s)
                continue
            times = by_key[request.api_key] or self._new(request.api_key)
            pending = times.pending
            pending.append(
                (sent_s - received_s, started_s - received_s, handled_s - started_s, sent_s - handled_s, frame_bytes)
            )
            if len(pending) >= _MOST_PENDING:
                times.settle()

    def _finished_late(self, request: Request, sent_s: float) -> None:
        key = _FOLLOWER_FETCH if request.is_from_follower else request.api_key
        times = self._by_key[key] or self._new(key)
        times.add(request, sent_s)
        if request.throttle_time_ms:
            times.throttle.add(request.throttle_time_ms / 1000)
        if sent_s - request.received_s >= self._slow_s:
            self._slow(request, sent_s)
        if self._each is not None:
            self._each(request, sent_s)

    def watch_slow(self, slow_ms: int, slow: Callable[[Request, float], None]) -> None:
        """Tell ``slow`` of requests that take ``slow_ms`` or longer; 0: of none."""
        self._slow_s = slow_ms / 1000 if slow_ms else _NEVER_S
        self._slow = slow

    def watch_all(self, each: Callable[[Request, float], None] | None) -> None:
        """Tell ``each`` of each request; None: of none."""
        self._each = each

    def apis(self) -> Iterator[ApiTimes]:
        """The APIs that clients have requested. As in Kafka, fetches of consumers and of followers are also apart."""
        found = [times for times in self._by_key if times is not None]
        for times in found:
            times.settle()
        yield from found
        fetches = [times for times in found if times.name.startswith("Fetch")]
        if fetches:
            yield all_of("Fetch", fetches)

    def _new(self, key: int) -> ApiTimes:
        name = {_FETCH: "FetchConsumer", _FOLLOWER_FETCH: "FetchFollower"}.get(key) or API_SPECS[ApiKey(key)].name
        times = self._by_key[key] = ApiTimes(name)
        return times


def with_stages(finished: FinishedRequest) -> Request:
    """The request with all times in its attributes."""
    request, received_s, started_s, handled_s, frame_bytes, response_bytes = finished
    if received_s == NOT_PROMPT:
        return request
    request.frame_bytes, request.response_bytes = frame_bytes, response_bytes
    request.received_s, request.started_s = received_s, started_s
    request.handled_s = request.answered_s = request.sending_s = handled_s
    return request


def all_of(name: str, parts: Iterable[ApiTimes]) -> ApiTimes:
    """The times of several kinds of requests together."""
    together = ApiTimes(name)
    for part in parts:
        together.request_bytes.include(part.request_bytes)
        for phase in PHASES:
            together.phase(phase).include(part.phase(phase))
    return together


def _ignore(request: Request, sent_s: float) -> None:
    """Nobody watches slow requests."""
