"""Topic ids in OffsetCommit and OffsetFetch: from version 10 on requests and responses have ids in place of names."""

from collections.abc import Iterable
from typing import Protocol, TypeVar
from uuid import UUID

__all__ = ["FIRST_WITH_TOPIC_IDS", "TopicIds", "known_and_unknown"]

FIRST_WITH_TOPIC_IDS = 10


class TopicIds(Protocol):
    """The methods of the metadata cache that are used here."""

    def topic_id(self, topic: str) -> UUID:
        """The null uuid if the topic is unknown or has none."""
        ...

    def topic_name(self, topic_id: UUID) -> str | None: ...


class _Topic(Protocol):
    name: str
    topic_id: UUID


TopicT = TypeVar("TopicT", bound=_Topic)


def known_and_unknown(topics: Iterable[TopicT], ids: TopicIds) -> tuple[list[TopicT], list[TopicT]]:
    """The topics whose ids are known, which get their names; and the others."""
    known: list[TopicT] = []
    unknown: list[TopicT] = []
    for topic in topics:
        name = ids.topic_name(topic.topic_id)
        if name is None:
            unknown.append(topic)
        else:
            topic.name = name
            known.append(topic)
    return known, unknown
