"""The APIs that describe and change settings and quotas, with their handlers."""

from collections.abc import Mapping

from ....protocol.apis import ApiKey
from ...requests.context import Handler
from ...requests.group_features import SETTINGS_API
from ..broker_parts import BrokerParts
from .alter_client_quotas import AlterClientQuotas
from .alter_configs import AlterConfigs
from .describe_client_quotas import DescribeClientQuotas
from .describe_configs import DescribeConfigs
from .incremental_alter_configs import IncrementalAlterConfigs
from .list_config_resources import ListConfigResources

__all__ = ["config_apis"]


def config_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    settings, metadata, topic_exists = parts.settings, parts.metadata, parts.cache.has_topic
    features = parts.group_features

    def has_groups() -> bool:
        return any(feature.is_served for feature in features)

    altered_config = settings.altered_config(topic_exists, metadata.settings_limit, has_groups)
    table: dict[ApiKey, Handler] = {
        ApiKey.DESCRIBE_CONFIGS: DescribeConfigs(
            metadata.identity.broker_id,
            metadata.tree,
            settings.dynamic,
            topic_exists,
            settings.loggers,
            settings.groups,
            has_groups,
        ),
        ApiKey.ALTER_CONFIGS: AlterConfigs(altered_config),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: IncrementalAlterConfigs(altered_config),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: DescribeClientQuotas(metadata.tree),
        ApiKey.ALTER_CLIENT_QUOTAS: AlterClientQuotas(metadata.tree, settings.changes.caught_up),
    }
    if features.consumer.is_asked_for:
        table[SETTINGS_API] = ListConfigResources(parts.cache, lambda: settings.groups.group_ids, has_groups)
    return table
