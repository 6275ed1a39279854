"""Tests of the options of a mirror's source, and of the ACLs that a mirror carries, without a cluster."""

import pytest
from pybroker.base.acls import AclBinding, AclEntry, AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.base.acls import ResourcePattern as Pattern
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.given_options import OptionError
from pybroker.pipeline.topics.offset_ranges import OffsetRange, split_ranges
from support.spark.gathered_rows import need_columns

need_columns()

TOPIC = AclResourceType.TOPIC
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY


def acl(name: str, operation: AclOperation, permission: AclPermission = ALLOW, *, prefixed: bool = False) -> AclBinding:
    pattern_type = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return AclBinding(Pattern(TOPIC, name, pattern_type), AclEntry("User:alice", "*", operation, permission))


def carried(*found: AclBinding) -> list[tuple[str, str, str]]:
    from pybroker.pipeline.mirror.topic_rules import mirrored_acls

    wanted = list(mirrored_acls(found, ["events", "orders"], "east."))
    assert all(each.pattern.pattern_type is PatternType.LITERAL for each in wanted)
    return [(each.pattern.name, each.entry.operation.name, each.entry.permission.name) for each in wanted]


@pytest.mark.parametrize("operation", [AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER_CONFIGS])
def test_right_to_change_a_topic_is_not_carried_but_its_denial_is(operation: AclOperation) -> None:
    assert carried(acl("events", operation)) == []
    assert carried(acl("events", operation, DENY)) == [("east.events", operation.name, "DENY")]


def test_right_to_do_everything_becomes_the_right_to_read() -> None:
    assert carried(acl("events", AclOperation.ALL)) == [("east.events", "READ", "ALLOW")]
    assert carried(acl("events", AclOperation.ALL, DENY)) == [("east.events", "ALL", "DENY")]


def test_acl_of_many_topics_becomes_one_for_each_mirrored_topic_that_it_applies_to() -> None:
    read = AclOperation.READ
    assert carried(acl("*", read, DENY)) == [("east.events", "READ", "DENY"), ("east.orders", "READ", "DENY")]
    assert carried(acl("ev", read, prefixed=True), acl("other", read)) == [("east.events", "READ", "ALLOW")]


SOURCE = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}


@pytest.mark.parametrize("option", ["minPartitions", "maxRecordsPerPartition", "maxrecordsperpartition"])
def test_option_that_splits_partitions_into_tasks_is_refused_for_a_mirror(option: str) -> None:
    from pybroker.pipeline.mirror.topic_rules import mirrored_source

    with pytest.raises(OptionError, match=r"^Option 'm\w+Partitions?' can't be used for a mirror"):
        mirrored_source({**SOURCE, option: "100"})


def test_mirror_copies_each_partition_in_one_task() -> None:
    from pybroker.pipeline.mirror.topic_rules import mirrored_source

    read = mirrored_source(SOURCE)
    ranges = [OffsetRange(TopicPartition("t", number), 0, 5_000_000) for number in range(2)]
    assert split_ranges(ranges, min_partitions=read.min_partitions, max_records=read.max_records) == ranges
