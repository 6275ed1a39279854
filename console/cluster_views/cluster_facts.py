"""What a session knows about all topics and groups: metadata, settings that lists show, sizes, rows of groups.

**Why.** With 10,000 topics each of them takes a broker and the console a good part of a second. **How.** All viewers of
a session share the answers (`Kept`). Settings are asked for in parts, so that no response is large.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

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

Logs = Mapping[int, BrokerLogs]
Settings = Mapping[str, ListedSettings]


class ClusterFacts:
    """Of one session, with the rights of its principal."""

    def __init__(self, cluster: AsyncCluster) -> None:
        self._cluster = cluster
        self._metadata = Kept(lambda: cluster.metadata(None))
        self._settings = Kept(self._ask_settings, _SETTINGS_S)
        self._logs = Kept(self._ask_logs, _SIZES_S)
        self._groups = Kept(lambda: group_rows(cluster))
        self._all: tuple[Kept[Any], ...] = (self._metadata, self._settings, self._logs, self._groups)

    async def metadata(self) -> MetadataResponse:
        """Brokers, and all topics that the principal may see. Raises as `AsyncCluster.metadata`."""
        return await self._metadata.get()

    async def settings(self) -> Settings:
        """By topic; topics whose settings are refused are left out."""
        return await self._settings.get()

    async def logs(self) -> Logs:
        """By broker; brokers that refuse or do not answer are left out."""
        return await self._logs.get()

    async def groups(self) -> list[dict[str, Any]]:
        """All groups that the principal may see. The rows are shared, so nobody may change them."""
        return await self._groups.get()

    async def settings_and_logs_within(self, patience_s: float) -> tuple[Settings | None, Logs | None]:
        """What is known after this time; None for what is not known yet."""
        found = await asyncio.gather(
            self._settings.within(patience_s), self._logs.within(patience_s), return_exceptions=True
        )
        for each in found:
            if isinstance(each, BaseException) and not isinstance(each, KafkaError | OSError):
                raise each
        settings, logs = found
        return (
            {} if isinstance(settings, BaseException) else settings,
            {} if isinstance(logs, BaseException) else logs,
        )

    def forget(self) -> None:
        """Something was changed by this session."""
        for each in self._all:
            each.forget()

    def close(self) -> None:
        """Forget all of it for good."""
        for each in self._all:
            each.close()

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
