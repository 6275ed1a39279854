"""The list of topics: names and partitions at once, settings, sizes and rates as soon as they are known.

**Why.** Metadata of 10,000 topics arrives in a good part of a second, but their settings and sizes take longer.
**How.** The list waits a little for them. Fields that are not known yet are null then, and `is_complete` is false.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ...base.frozen import frozen
from ...protocol.messages.metadata import MetadataResponseTopic
from .cluster_facts import PATIENCE_S, ClusterFacts, Logs, Settings, visible_topics
from .overlay import overlaid
from .topic_views import size_of, topic_row
from .v1_lists import V1List, V1Lists


@frozen
class TopicList:
    """Makes the rows. `brokers`: how many pybrokers told a part of it."""

    topics: Mapping[str, MetadataResponseTopic]
    settings: Settings | None
    logs: Logs | None
    told: V1List | None
    is_complete: bool

    @property
    def names(self) -> list[str]:
        """Not sorted."""
        return list(self.topics)

    @property
    def brokers(self) -> int:
        return 0 if self.told is None else self.told.brokers

    def row_of(self, name: str) -> dict[str, Any]:
        """The row of a topic in the list."""
        topic = self.topics[name]
        settings = None if self.settings is None else self.settings.get(name)
        row = topic_row(topic, settings, None if self.logs is None else size_of(topic, self.logs))
        return row if self.told is None else overlaid(row, self.told.rows.get(name, ()))


async def topic_list(facts: ClusterFacts, v1_lists: V1Lists) -> TopicList:
    """Returns after the metadata, and at most `PATIENCE_S` after the call if the metadata took less."""
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + PATIENCE_S
    metadata = await facts.metadata()
    topics = {str(topic.name): topic for topic in visible_topics(metadata)}
    told = None
    if v1_lists:
        told = await v1_lists.topics.within(max(0.0, ends_s - loop.time()))
        if told is None:
            return TopicList(topics, None, None, None, is_complete=False)
        if told.brokers >= len(metadata.brokers):  # they know settings and sizes too
            return TopicList(topics, None, None, told, is_complete=True)
    rest_s = max(0.0, ends_s - loop.time())
    settings, logs = await asyncio.gather(
        facts.within(rest_s, facts.all_settings), facts.within(rest_s, facts.all_logs)
    )
    return TopicList(topics, settings, logs, told, is_complete=settings is not None and logs is not None)
