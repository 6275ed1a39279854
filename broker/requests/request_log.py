"""The request log: a line for each request on Kafka's logger ``kafka.request.logger``, at level DEBUG.

The line is Kafka's "Completed request:" with JSON: the header, the times and sizes, and who sent it. **Limits.** Bodies
are never in it, also at TRACE: they hold records, passwords and tokens.
"""

import json
import logging
from collections.abc import Collection

from ...base.quiet_lines import QUIET_S
from ...protocol.apis import API_SPECS, ApiKey
from ..network.request import Request

__all__ = ["REQUEST_LOGGER", "RequestLog"]

REQUEST_LOGGER = "kafka.request.logger"
_MS = 1000.0
_EACH_LINE = {QUIET_S: 0.0}


class RequestLog:
    """``clients``: only requests with these client ids; empty: all. ``sample``: one of so many requests is logged."""

    def __init__(self, clients: Collection[str], sample: int) -> None:
        self._logger = logging.getLogger(REQUEST_LOGGER)
        if self._logger.level == logging.NOTSET:
            self._logger.setLevel(logging.WARNING)  # as in Kafka's log4j.properties, whatever the level of the root
        self._clients = frozenset(clients)
        self._sample = sample
        self._seen = 0

    @property
    def is_on(self) -> bool:
        return self._logger.isEnabledFor(logging.DEBUG)

    def note(self, request: Request, sent_s: float) -> None:
        """A request is finished."""
        if self._clients and request.client_id not in self._clients:
            return
        self._seen += 1
        if self._seen % self._sample == 0:
            self._logger.debug("Completed request:%s", json.dumps(_described(request, sent_s)), extra=_EACH_LINE)


def _described(request: Request, sent_s: float) -> dict[str, object]:
    connection = request.connection
    return {
        "requestHeader": {
            "requestApiKey": request.api_key,
            "requestApiVersion": request.api_version,
            "correlationId": request.correlation_id,
            "clientId": request.client_id,
            "requestApiKeyName": API_SPECS[ApiKey(request.api_key)].name,
        },
        "connection": f"{connection.local_host}:{connection.local_port}-{connection.peer_host}:{connection.peer_port}",
        "totalTimeMs": _ms(sent_s - request.received_s),
        "requestQueueTimeMs": _ms(request.started_s - request.received_s),
        "localTimeMs": _ms(request.handled_s - request.started_s),
        "remoteTimeMs": _ms(request.answered_s - request.handled_s),
        "throttleTimeMs": request.throttle_time_ms,
        "responseQueueTimeMs": _ms(request.sending_s - request.answered_s),
        "sendTimeMs": _ms(sent_s - request.sending_s),
        "requestSizeBytes": request.frame_bytes,
        "responseSizeBytes": request.response_bytes,
        "securityProtocol": connection.security_protocol,
        "principal": str(connection.principal),
        "listener": connection.listener_name,
        "clientInformation": connection.software,
    }


def _ms(duration_s: float) -> float:
    return round(duration_s * _MS, 3)
