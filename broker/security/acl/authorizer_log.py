"""Writes the authorizer's log under Kafka's name, `kafka.authorizer.logger`, with Kafka's fields in Kafka's order.

A refused access is logged at INFO, an allowed one at DEBUG. Questions that only find out what a principal may do, or
that only filter a list, are logged at TRACE (level 5). The same refusal is logged once in 30 s, with a count of the
refusals left out, because a client can repeat it as often as it likes.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping

from ....base.acls import AclOperation, AclResourceType, PatternType, ResourcePattern
from ....base.event_marks import marked
from ....base.printable import printable
from ....protocol.apis import API_SPECS, ApiKey

__all__ = ["AUTHORIZER_LOGGER", "LONGEST_NAME", "MOST_REFUSALS", "QUIET_S", "TRACE", "AuthorizerLog"]

AUTHORIZER_LOGGER = "kafka.authorizer.logger"
TRACE = 5
QUIET_S = 30.0
MOST_REFUSALS = 1024
"""Refusals remembered at once; when all are younger than `QUIET_S`, further ones share one line."""
LONGEST_NAME = 300
"""Characters shown of a name. A client may send a name as long as a request, and each refusal is remembered."""
_LINE = (
    "Principal = %s is %s Operation = %s from host = %s on resource = %s for request = %s with resourceRefCount = %d"
)
_OTHERS = ("", "", AclOperation.UNKNOWN, "")

logger = logging.getLogger(AUTHORIZER_LOGGER)


class AuthorizerLog:
    """``now_s`` is a clock that never goes back."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._refusals: OrderedDict[tuple[str, str, AclOperation, str], tuple[float, int]] = OrderedDict()

    def verdict(
        self,
        level: int,
        principal: object,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
        *,
        api_key: int,
        count: int,
        is_allowed: bool,
        pattern_type: PatternType = PatternType.LITERAL,
    ) -> None:
        """Called when ``level`` is logged. ``api_key``: of the request. ``count``: how often it names the resource."""
        resource = printable(str(ResourcePattern(resource_type, _cut(name), pattern_type)))
        who = printable(_cut(str(principal)))
        line = _LINE % (
            who, "Allowed" if is_allowed else "Denied", operation.pascal_name, host, resource, _name(api_key), count
        )  # fmt: skip
        if level == logging.INFO:
            self._refused((who, host, operation, resource), line)
        else:
            logger.log(level, "%s", line, extra=_mark((who, host, operation, resource)))

    def _refused(self, key: tuple[str, str, AclOperation, str], line: str) -> None:
        now_s = self._now_s()
        if key not in self._refusals and self._is_full(now_s):
            key = _OTHERS
        last_s, left_out = self._refusals.get(key, (None, 0))
        if last_s is not None and now_s - last_s < QUIET_S:
            self._refusals[key] = (last_s, left_out + 1)
            return
        self._refusals[key] = (now_s, 0)
        self._refusals.move_to_end(key)
        others = "refusals of others" if key == _OTHERS else "such refusals"
        shown = f"{line} ({left_out} more {others} since the last such line)" if left_out else line
        logger.info("%s", shown, extra=_mark(key))

    def _is_full(self, now_s: float) -> bool:
        """Forgets the oldest refusals when there is no space for another one."""
        while len(self._refusals) >= MOST_REFUSALS:
            last_s, _ = next(iter(self._refusals.values()))
            if now_s - last_s < QUIET_S:
                return True
            self._refusals.popitem(last=False)
        return False


def _mark(key: tuple[str, str, AclOperation, str]) -> Mapping[str, object]:
    user, peer, operation, resource = key
    return marked("acl.verdict", user=user, peer=peer, operation=operation.pascal_name, resource=resource)


def _name(api_key: int) -> str:
    try:
        return API_SPECS[ApiKey(api_key)].name
    except (KeyError, ValueError):
        return "unknown"


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
