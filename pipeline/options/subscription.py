"""The topics or partitions that a query reads: the options `assign`, `subscribe` and `subscribePattern`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...base.topic_partition import TopicPartition
from ...client.given_options import OptionError
from .options import Options, listed_names
from .partition_json import parse_partitions

SUBSCRIPTIONS = ("assign", "subscribe", "subscribePattern")


@dataclass(frozen=True, slots=True)
class Assigned:
    """A fixed list of partitions."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Topics:
    """All partitions of these topics, including partitions added later."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """All partitions of topics whose names match, including topics created later."""

    pattern: re.Pattern[str]

    def matches(self, topic: str) -> bool:
        """Returns whether the pattern matches anywhere in the name, as in Spark's own source; `^` and `$` anchor it."""
        return self.pattern.search(topic) is not None


Subscription = Assigned | Topics | TopicPattern


def subscription_of(options: Options) -> Subscription | None:
    """Returns the subscription by `assign`, `subscribe` or `subscribePattern`; None if none is set.
    Raises OptionError."""
    name = options.at_most_one(SUBSCRIPTIONS)
    if name is None:
        return None
    text = options.text(name) or ""
    if name == "assign":
        return Assigned(parse_partitions(name, text))
    if name == "subscribe":
        if not (names := listed_names(text)):
            raise OptionError("Option 'subscribe' names no topic")
        return Topics(names)
    if not text:
        raise OptionError("Option 'subscribePattern' is empty")
    try:
        return TopicPattern(re.compile(text))
    except re.error as error:
        raise OptionError(f"Option 'subscribePattern' is not a valid regular expression: {error}") from None


def reads_topic(subscription: Subscription | None, topic: str) -> bool:
    """Returns whether a query with the subscription reads the topic, now or once the topic exists."""
    match subscription:
        case Assigned(partitions):
            return any(at.topic == topic for at in partitions)
        case Topics(names):
            return topic in names
        case TopicPattern():
            return subscription.matches(topic)
    return False
