"""Reads the settings of a cluster's authorizer, as far as the brokers tell them."""

from ...client.admin_cluster import AdminCluster
from ...client.explained_acl import AUTHORIZER_SETTINGS, UNTOLD_SETTINGS, AuthorizerSettings, ToldSetting
from ...protocol.errors import KafkaError
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind

__all__ = ["authorizer_settings"]

_BY_DEFAULT = 5
"""The source of a setting in DescribeConfigs that nobody set: DEFAULT_CONFIG."""


def authorizer_settings(cluster: AdminCluster) -> AuthorizerSettings:
    """The settings of the broker with the lowest id. A user who may not see them gets none."""
    broker = NamedResource(ResourceKind.BROKER, str(min(each.node_id for each in cluster.metadata().brokers)))
    try:
        found = found_settings(cluster, [broker], AUTHORIZER_SETTINGS)[broker]
    except KafkaError:
        return UNTOLD_SETTINGS
    return AuthorizerSettings.among(
        ToldSetting(each.name, each.value, each.is_sensitive and each.config_source != _BY_DEFAULT) for each in found
    )
