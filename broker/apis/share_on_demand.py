"""The handlers of share groups for clients, made at the first request: most brokers never have a share group."""

from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any

from ...protocol.apis import ApiKey
from ..requests.context import Handler, RequestContext
from ..requests.group_features import SHARE_GROUP_APIS, WhileServed
from .broker_parts import BrokerParts

__all__ = ["share_apis_on_demand"]


def share_apis_on_demand(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    """To be called where the settings ask for share groups."""
    table: dict[ApiKey, Handler] = {}

    def handle(key: ApiKey, context: RequestContext, request: Any) -> Any | Awaitable[Any]:
        if not table:
            from .groups.share_table import share_group_apis  # imported only here: faster start without
            from .share.table import share_apis

            table.update(share_apis(parts))
            table.update(share_group_apis(parts))
        return table[key](context, request)

    return {key: WhileServed(partial(handle, key), parts.group_features.share) for key in SHARE_GROUP_APIS}
