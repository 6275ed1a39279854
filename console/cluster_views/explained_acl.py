"""The console's explanation of what a principal may do, when no pybroker tells it: by the ACLs of the cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...base.acl_rules.question import AclQuestion
from ...client.acl_messages import acls_request, bindings_in
from ...client.asynchronous.cluster import AsyncCluster
from ...client.explained_acl import (
    UNTOLD_SETTINGS,
    WITHOUT_ACLS,
    AuthorizerSettings,
    Judgement,
    ToldSetting,
    document_of,
    judged,
)
from ...protocol.errors import KafkaError, SecurityDisabledError
from .setting_views import BROKER, settings_of

_BY_DEFAULT = "default"


async def explained_acl(cluster: AsyncCluster, question: AclQuestion) -> dict[str, Any]:
    """The explanation. Raises KafkaError when the principal of the session may not see ACLs."""
    return asdict(document_of(question, await _judgement(cluster, question)))


async def _judgement(cluster: AsyncCluster, question: AclQuestion) -> Judgement:
    try:
        acls = bindings_in(await cluster.ask_any(acls_request(question)))
    except SecurityDisabledError:
        return WITHOUT_ACLS
    return judged(question, acls, await _authorizer_settings(cluster))


async def _authorizer_settings(cluster: AsyncCluster) -> AuthorizerSettings:
    metadata = await cluster.metadata([])
    try:
        settings = await settings_of(cluster, BROKER, str(metadata.brokers[0].node_id))
    except (KafkaError, IndexError):
        return UNTOLD_SETTINGS
    return AuthorizerSettings.among(
        ToldSetting(each["name"], each["value"], each["is_sensitive"] and each["source"] != _BY_DEFAULT)
        for each in settings
    )
