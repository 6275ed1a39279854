"""A request to ZooKeeper that has no delivered result yet."""

from asyncio import Future
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["PENDING", "ZooKeeperRequest"]

PENDING = object()
"""The outcome of a request without a response."""


@dataclass(slots=True, eq=False)
class ZooKeeperRequest:
    """``ask`` starts the request in kazoo. A request refused here has an outcome at once."""

    path: str | None
    ask: Callable[[], Any]
    result_of: Callable[[Any], Any]
    future: "Future[Any] | None"
    outcome: Any = PENDING
    is_read: bool = False
    """Whether it is repeated when its connection breaks."""
    takes_missing: bool = False
    """Whether ``result_of`` is called with None when the node does not exist."""
