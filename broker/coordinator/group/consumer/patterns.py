"""Records of the topics that were found for the patterns of a consumer group's members."""

from collections.abc import Iterable

from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .memory import pattern_bytes
from .records import GroupEpoch, GroupRecord, ResolvedPattern
from .subscriptions import SubscriptionDraft

__all__ = ["patterns_growth", "resolved_records"]


def resolved_records(
    group: ConsumerGroup, resolved: Iterable[ResolvedPattern], topics: TopicLookup
) -> tuple[GroupRecord, ...]:
    """The records of patterns whose topics were looked up. Patterns that no member uses any more are left out."""
    records: list[GroupRecord] = []
    after = SubscriptionDraft(group.subscriptions)
    has_changed = False
    for found in resolved:
        if not group.subscriptions.count_with(found.pattern):
            continue
        records.append(found)
        before = group.patterns[found.pattern].topics if found.pattern in group.patterns else frozenset()
        if before != found.topics:
            has_changed = True
            after.count_matches(before, -1)
            after.count_matches(found.topics, 1)
    new_hash = after.topics_hash(topics)
    if has_changed or (records and new_hash != group.metadata_hash):
        records.append(GroupEpoch(group.epoch + 1, new_hash))
    return tuple(records)


def patterns_growth(group: ConsumerGroup, records: Iterable[GroupRecord]) -> int:
    """By how much more memory the group takes with these records of patterns."""
    found = [each for each in records if isinstance(each, ResolvedPattern)]
    before = [group.patterns[each.pattern] for each in found if each.pattern in group.patterns]
    return sum(map(pattern_bytes, found)) - sum(map(pattern_bytes, before))
