"""Keys of FindCoordinator for share partitions."""

from uuid import UUID

import pytest
from pybroker.broker.coordinator.share.coordinator_key import coordinator_key, is_coordinator_key
from pybroker.broker.coordinator.share.ports import SharePartitionKey


def test_key_has_the_form_that_kafka_hashes() -> None:
    assert coordinator_key(SharePartitionKey("a:b", UUID(int=0), 12)) == "a:b:AAAAAAAAAAAAAAAAAAAAAA:12"


@pytest.mark.parametrize("group_id", ["g", "a:b", ":", " x"])
def test_key_of_a_share_partition_is_accepted(group_id: str) -> None:
    assert is_coordinator_key(coordinator_key(SharePartitionKey(group_id, UUID(int=2**127), 0)))


@pytest.mark.parametrize(
    "text",
    ["", "g", "g:AAAAAAAAAAAAAAAAAAAAAA", "g:short:0", ":AAAAAAAAAAAAAAAAAAAAAA:0", "g:AAAAAAAAAAAAAAAAAAAAAA:-1"],
)
def test_other_text_is_no_key(text: str) -> None:
    assert not is_coordinator_key(text)
