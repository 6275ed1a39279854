"""Tests what a member is told when its change is not written."""

from collections.abc import Callable, Iterable

import pytest
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.records import GroupEpoch, GroupRecord
from pybroker.broker.coordinator.group.modern.writing import GroupWriter
from pybroker.broker.coordinator.group.registry import GroupRegistry
from pybroker.protocol.errors import ErrorCode, error_for
from pybroker.storage.log.append_chain import AppendChain


class FailingLog:
    """A log whose appends fail."""

    def __init__(self, code: ErrorCode) -> None:
        self._code = code

    def max_batch_bytes(self, group_id: str) -> None:
        return None

    def append(
        self,
        group_id: str,
        pairs: Iterable[tuple[bytes, bytes | None]],
        done: Callable[[object], None],
        *,
        chain: AppendChain,
    ) -> None:
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
    log = FailingLog(code)
    writer: GroupWriter[ConsumerGroup, GroupRecord] = GroupWriter(
        registry,
        log,  # type: ignore[arg-type]  # a fake
        lambda group, records: None,
        lambda partition: None,
    )
    assert writer.write(ConsumerGroup("group"), [GroupEpoch(1)], heard.append)
    assert heard == [told]
