"""All APIs that the broker serves, each with its handler. CONTRIBUTING.md says how to add one."""

from collections.abc import Mapping

from ...base.invariant import invariant
from ...config.group_protocols import asks_for_share_groups
from ...protocol.apis import ApiKey
from ..requests.context import Handler
from .broker_parts import BrokerParts
from .cluster.api_versions import with_api_versions
from .cluster.table import cluster_apis
from .configs.table import config_apis
from .groups.table import group_apis
from .records.table import record_apis
from .security.table import security_apis
from .share_on_demand import share_apis_on_demand
from .topics.table import topic_apis
from .transactions.table import transaction_apis

__all__ = ["handlers"]


def handlers(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    """One handler for each API served. A broker with an embedded store serves no APIs of other brokers: without
    authentication any client could act as the controller."""
    themes = [record_apis, group_apis, topic_apis, transaction_apis, config_apis, cluster_apis, security_apis]
    if asks_for_share_groups(parts.config):
        themes.append(share_apis_on_demand)
    if parts.is_in_cluster:
        from .between_brokers.table import between_brokers_apis  # imported only in a cluster: faster start without

        themes.append(between_brokers_apis)
    rows = [row for theme in themes for row in theme(parts).items()]
    table = dict(rows)
    invariant(len(table) == len(rows), "an API has a row in two tables")
    return with_api_versions(
        table, parts.settings.features, parts.served_versions, parts.group_features, is_in_cluster=parts.is_in_cluster
    )
