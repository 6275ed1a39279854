"""Facts about all topics and groups of a session: metadata, settings that lists show, sizes, rows of groups.

**Why.** With 10,000 topics each of them takes a broker and the console a good part of a second. **How.** All viewers of
a session share the answers (`Kept`). Settings are asked for in parts, so that no response is large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.errors import KafkaError
from ...protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from .group_views import group_rows
from .kept import Kept
from .log_sizes import BrokerLogs, logs_of_brokers
from .setting_views import ListedSettings, settings_in_lists

_SETTINGS_S = 60.0
_SIZES_S = 5.0
_TOPICS_AT_ONCE = 1_000
PATIENCE_S = 0.25
"""How long a view waits for what takes long in a large cluster."""

T = TypeVar("T")

Groups = list[dict[str, Any]]
Logs = Mapping[int, BrokerLogs]
Settings = Mapping[str, ListedSettings]


class ClusterFacts:
    """The facts of one session, with the rights of its principal."""

    def __init__(self, cluster: AsyncCluster) -> None:
        self._cluster = cluster
        self._metadata = Kept(lambda: cluster.metadata(None), is_large=True)
        self.all_settings: Kept[Settings] = Kept(self._ask_settings, _SETTINGS_S)
        """By topic; topics whose settings are refused are left out."""
        self.all_logs: Kept[Logs] = Kept(self._ask_logs, _SIZES_S)
        """By broker; brokers that refuse or do not answer are left out."""
        self.all_groups: Kept[Groups] = Kept(lambda: group_rows(cluster))
        """The rows are shared, so nobody may change them."""

    async def metadata(self) -> MetadataResponse:
        """Brokers, and all topics that the principal may see. Raises as `AsyncCluster.metadata`."""
        return await self._metadata.get()

    async def groups(self) -> Groups:
        """All groups that the principal may see. Raises as `AsyncCluster.metadata`."""
        return await self.all_groups.get()

    async def within(self, patience_s: float, wanted: Kept[T]) -> T | None:
        """The newest fact after this time; None if it is not known yet, or refused."""
        try:
            return await wanted.within(patience_s)
        except (KafkaError, OSError):
            return None

    def forget(self) -> None:
        """Something was changed by this session."""
        for each in self._all():
            each.forget()

    def close(self) -> None:
        """Forget all of it for good."""
        for each in self._all():
            each.close()

    def _all(self) -> tuple[Kept[Any], ...]:
        return self._metadata, self.all_settings, self.all_logs, self.all_groups

    async def _ask_settings(self) -> dict[str, ListedSettings]:
        names = [str(topic.name) for topic in visible_topics(await self.metadata())]
        found: dict[str, ListedSettings] = {}
        for start in range(0, len(names), _TOPICS_AT_ONCE):
            found |= await settings_in_lists(self._cluster, names[start : start + _TOPICS_AT_ONCE])
        return found

    async def _ask_logs(self) -> dict[int, BrokerLogs]:
        metadata = await self.metadata()
        return await logs_of_brokers(self._cluster, [broker.node_id for broker in metadata.brokers])


def visible_topics(metadata: MetadataResponse) -> list[MetadataResponseTopic]:
    """The topics that have no error."""
    return [topic for topic in metadata.topics if not topic.error_code and topic.name]
