"""The end marker of a transaction."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.end_markers import EndMarker, end_marker
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction


@pytest.mark.parametrize(("state", "is_commit"), [("PREPARE_COMMIT", True), ("PREPARE_ABORT", False)])
def test_the_marker_has_the_producer_and_the_decision_of_the_transaction(state: str, is_commit: bool) -> None:
    picture = TransactionPicture(
        TransactionState[state], ProducerIdentity(70, 6, 5), 30, frozenset({TopicPartition("t", 0)}), 1, 2
    )
    assert end_marker(Transaction("id", picture), 9, 3) == EndMarker("id", 9, 3, 70, 6, is_commit)
