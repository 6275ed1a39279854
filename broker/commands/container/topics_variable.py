"""Reads ``KAFKA_CREATE_TOPICS``, a variable of other images of Kafka: topics that the broker creates at its start.

Topics are divided by commas; each is ``name:partitions:replicas:cleanup.policy``, of which all but the name may be left
out. The broker's defaults take the place of counts that are left out or empty.
"""

from collections.abc import Mapping

from ....base.command_parser import BAD_INPUT, CommandError
from ....protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig

__all__ = ["CREATE_TOPICS", "topics_to_create"]

CREATE_TOPICS = "KAFKA_CREATE_TOPICS"
_DEFAULT_COUNT = -1
_MOST_PARTS = 4
_MOST_PARTITIONS, _MOST_REPLICAS = 0x7FFFFFFF, 0x7FFF


def topics_to_create(environment: Mapping[str, str]) -> list[CreatableTopic]:
    """Raises CommandError for a topic that cannot be read."""
    given = [each.strip() for each in environment.get(CREATE_TOPICS, "").split(",")]
    topics = [_topic(each) for each in given if each]
    for topic in topics:
        if sum(each.name == topic.name for each in topics) > 1:
            raise CommandError(f"{CREATE_TOPICS}: topic {topic.name} is named twice", BAD_INPUT)
    return topics


def _topic(text: str) -> CreatableTopic:
    name, *rest = text.split(":", _MOST_PARTS - 1)
    partitions, replicas, policy = [*rest, "", "", ""][: _MOST_PARTS - 1]
    if not name:
        raise CommandError(f"{CREATE_TOPICS}: {text}: the topic has no name", BAD_INPUT)
    return CreatableTopic(
        name=name,
        num_partitions=_count(partitions, text, "partitions", _MOST_PARTITIONS),
        replication_factor=_count(replicas, text, "replicas", _MOST_REPLICAS),
        configs=[CreatableTopicConfig(name="cleanup.policy", value=policy.strip())] if policy.strip() else [],
    )


def _count(given: str, topic: str, what: str, most: int) -> int:
    text = given.strip()
    if not text:
        return _DEFAULT_COUNT
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise CommandError(
            f"{CREATE_TOPICS}: {topic}: must be name:partitions:replicas:cleanup.policy, and {text} is no count of "
            f"{what}",
            BAD_INPUT,
        )
    return int(text)
