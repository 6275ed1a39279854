"""Measures requests against the quotas of their clients, and throttles connections (KIP-219, KIP-124).

A throttled client gets its response at once, with the throttle time, and nothing more is read from its connection for
that time. The longest of several throttle times counts. Requests of brokers are exempt: those below unless the right
is missing, fetches of followers, and all that this broker makes to itself.
"""

from asyncio import iscoroutine
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any

from ...controller.topics.permit import Permit
from ...protocol.apis import ApiKey
from ...protocol.errors import ThrottlingQuotaExceededError
from ..network.request import Reply, ReplyPart, Request
from ..quotas.client_quotas import ClientQuotas, MutationQuota
from ..quotas.quota_type import QuotaType
from .context import RequestContext

__all__ = ["EXEMPT_APIS", "RequestMutations", "Throttling"]

EXEMPT_APIS = frozenset(
    (
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.ALTER_PARTITION,
    )
)
_PRODUCE, _FETCH = ApiKey.PRODUCE, ApiKey.FETCH
_PERCENT_OF_A_SECOND = 100.0


class Throttling:
    """``clock_ms`` does not go back. ``stopwatch_s`` moves on while a request is handled. As in Kafka the time on the
    loop counts, not the CPU time, whose clock costs 25 times as much to read.
    """

    def __init__(self, quotas: ClientQuotas, clock_ms: Callable[[], int], stopwatch_s: Callable[[], float]) -> None:
        self.quotas = quotas
        self._produce = quotas.rates[QuotaType.PRODUCE]
        self._fetch = quotas.rates[QuotaType.FETCH]
        self.time = quotas.rates[QuotaType.REQUEST]
        self.clock_ms = clock_ms
        self._stopwatch_s = stopwatch_s

    def measured(self, request: Request, handle: Callable[[Request], Reply]) -> Reply:
        """The reply of ``handle``. Its time counts; the last step of a request counts for the client's next one."""
        started_s = self._stopwatch_s()
        try:
            reply = handle(request)
        finally:
            if not (request.is_of_broker and _is_exempt(request)):
                self._worked(request, self._stopwatch_s() - started_s)
        if type(reply) is list:
            return reply
        return self._timed(request, reply) if iscoroutine(reply) and not _is_exempt(request) else reply

    async def _timed(self, request: Request, work: Coroutine[Any, Any, Any]) -> list[ReplyPart] | None:
        parts: list[ReplyPart] | None = await self._in_steps(request, work)
        return parts

    @coroutine
    def _in_steps(self, request: Request, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The result of a coroutine. The time of each of its steps counts."""
        send: Callable[[Any], Any] = work.send
        value: Any = None
        while True:
            started_s = self._stopwatch_s()
            try:
                waits_for = send(value)
            except StopIteration as end:
                return end.value
            finally:
                self._worked(request, self._stopwatch_s() - started_s)
            try:
                send, value = work.send, (yield waits_for)
            except BaseException as error:
                send, value = work.throw, error

    def _worked(self, request: Request, work_s: float) -> None:
        user = request.connection.principal.name
        self.time.record(user, request.client_id, work_s * _PERCENT_OF_A_SECOND, self.clock_ms())

    def fetched(self, context: RequestContext, size_bytes: int) -> bool:
        """Count the bytes of a fetch for a consumer; False: the response must be empty, and the bytes do not count."""
        request = context.request
        if request is None:
            return True
        user, client_id, now_ms = request.connection.principal.name, request.client_id, self.clock_ms()
        throttle_ms = self._fetch.record(user, client_id, size_bytes, now_ms) if self._fetch.has_limits else 0
        if self.time.has_limits:
            throttle_ms = max(throttle_ms, self.time.current_ms(user, client_id, now_ms))
        if not throttle_ms:
            return True
        self._fetch.record(user, client_id, -size_bytes, now_ms)
        request.throttle(throttle_ms)
        return False

    def most_fetched(self, context: RequestContext) -> float | None:
        """The most bytes of one fetch that are not throttled by themselves; None: no limit."""
        if context.request is None or not self._fetch.has_limits:
            return None
        return self._fetch.most_at_once(context.principal.name, context.client_id)

    def mutations(self, context: RequestContext, *, is_strict: bool) -> "RequestMutations":
        """The quota of topic changes for a request. A request that came by no connection is exempt."""
        if context.request is None or not self.quotas.has_limits:
            return RequestMutations(None, context, self.clock_ms)
        quota = self.quotas.mutation_quota(context.principal, context.client_id, is_strict=is_strict)
        return RequestMutations(quota, context, self.clock_ms)

    def auto_created(self, context: RequestContext) -> Permit:
        """Counts the partitions of topics created on demand. As in Kafka, the request itself is not throttled."""
        return self.mutations(context, is_strict=False).permit()

    def finish(self, key: ApiKey, request: Request, *, has_response: bool) -> None:
        """The request is carried out: count it, and decide its throttle time.

        ``has_response``: as in Kafka, a produce request without a response is throttled for its bytes only.
        """
        if key is not _PRODUCE and (key is _FETCH or _is_exempt(request)):
            return  # a fetch has asked before its response was made
        user, client_id, now_ms = request.connection.principal.name, request.client_id, self.clock_ms()
        throttle_ms = 0
        if key is _PRODUCE and self._produce.has_limits:
            throttle_ms = self._produce.record(user, client_id, len(request.frame), now_ms)
        if self.time.has_limits and has_response:
            throttle_ms = max(throttle_ms, self.time.current_ms(user, client_id, now_ms))
        if throttle_ms:
            request.throttle(throttle_ms)


def _is_exempt(request: Request) -> bool:
    return request.is_of_broker and request.api_key in EXEMPT_APIS


class RequestMutations:
    """The topic changes of one request, on the clock."""

    def __init__(self, quota: MutationQuota | None, context: RequestContext, clock_ms: Callable[[], int]) -> None:
        self._quota = quota
        self._context = context
        self._clock_ms = clock_ms

    def permit(self) -> Permit:
        """The permit for the change of one topic, which counts once. It raises ThrottlingQuotaExceededError."""
        is_counted = False

        def take(partitions: int) -> None:
            nonlocal is_counted
            if self._quota is not None and not is_counted and not self._quota.take(partitions, self._clock_ms()):
                raise ThrottlingQuotaExceededError("The throttling quota has been exceeded.")
            is_counted = True

        return take

    def finish(self) -> None:
        """Every change is counted: the response will say how long the client must wait."""
        if self._quota is not None:
            self._context.throttle(self._quota.throttle_ms(self._clock_ms()))
