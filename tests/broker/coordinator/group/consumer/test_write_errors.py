"""Tests what a member is told when its change is not written."""

import pytest
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.records import GroupEpoch, GroupRecord
from pybroker.broker.coordinator.group.modern.writing import GroupWriter
from pybroker.broker.coordinator.group.record_log import RecordLog
from pybroker.broker.coordinator.group.registry import GroupRegistry
from pybroker.broker.coordinator.internal_log import AppendDone, InternalAppend
from pybroker.protocol.errors import ErrorCode, error_for


class FailingSink:
    """A log whose appends fail."""

    def __init__(self, code: ErrorCode) -> None:
        self._code = code

    def append(self, append: InternalAppend, done: AppendDone) -> None:
        done(error_for(self._code))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_member_whose_change_is_not_written_gets_an_error_that_its_client_knows(
    code: ErrorCode, told: ErrorCode
) -> None:
    registry = GroupRegistry(lambda: 1, 1_000_000, lambda: 0.0)
    heard: list[ErrorCode] = []
    log = RecordLog(FailingSink(code), registry.partition_for, lambda: 0)
    writer: GroupWriter[ConsumerGroup, GroupRecord] = GroupWriter(
        registry,
        log,
        lambda group, records: None,
        lambda partition: None,
    )
    assert writer.write(ConsumerGroup("group"), [GroupEpoch(1)], heard.append)
    assert heard == [told]
