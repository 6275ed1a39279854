"""The console's explanation of what a principal may do, when no pybroker tells it: by the ACLs of the cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...base.acl_rules.question import AclQuestion
from ...client.asynchronous.cluster import AsyncCluster
from ...client.explained_acl import HiddenSettings, acls_in, acls_request, explained_by, explained_without_authorizer
from ...protocol.errors import KafkaError
from .setting_views import BROKER, settings_of


async def explained_acl(cluster: AsyncCluster, question: AclQuestion) -> dict[str, Any]:
    """The explanation. Raises KafkaError when the principal of the session may not see ACLs."""
    acls = acls_in(await cluster.ask_any(acls_request(question)))
    if acls is None:
        return asdict(explained_without_authorizer(question))
    return asdict(explained_by(question, acls, await _hidden_settings(cluster)))


async def _hidden_settings(cluster: AsyncCluster) -> HiddenSettings:
    metadata = await cluster.metadata([])
    try:
        settings = await settings_of(cluster, BROKER, str(metadata.brokers[0].node_id))
    except (KafkaError, IndexError):
        return HiddenSettings(True, True)
    return HiddenSettings.among(each["name"] for each in settings)
