"""Quotas of clients on clocks that tests move."""

from collections.abc import Mapping

from pybroker.broker.network.request import ConnectionInfo, Request
from pybroker.broker.quotas.client_quotas import ClientQuotas
from pybroker.broker.quotas.quota_entity import QuotaEntity
from pybroker.broker.quotas.quota_type import QuotaType
from pybroker.broker.quotas.sampled_rate import Windows
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.requests.throttling import Throttling
from pybroker.protocol.apis import ApiKey

__all__ = ["Limited", "unthrottled"]


class Limited:
    """The quotas of user ANONYMOUS. ``request`` is the last one that `context` made."""

    request: Request

    def __init__(self, quotas: Mapping[QuotaType, float] | None = None) -> None:
        self.now_ms = 0
        self.quotas = ClientQuotas(Windows(), Windows())
        self.throttling = Throttling(self.quotas, lambda: self.now_ms, lambda: 0.0)
        self.limit(quotas or {})

    def limit(self, quotas: Mapping[QuotaType, float]) -> None:
        self.quotas.set_limits(QuotaEntity("ANONYMOUS"), quotas)

    def context(self, key: ApiKey, version: int) -> RequestContext:
        connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("127.0.0.1", 9092), ("127.0.0.1", 40000))
        self.request = Request(key, version, 1, "client", 0, bytearray(), connection, 0)
        return RequestContext.of(self.request)


def unthrottled() -> Throttling:
    """No client has a quota."""
    return Limited().throttling
