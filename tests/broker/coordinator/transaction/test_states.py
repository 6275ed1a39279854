"""The states of a transaction and the moves between them."""

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.broker.coordinator.transaction.states import STATES_BY_TITLE, TransactionState, may_move, moved

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, FENCE = TransactionState
LEGAL = {
    *((idle, EMPTY) for idle in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)),
    *((before, ONGOING) for before in (EMPTY, ONGOING, COMPLETE_COMMIT, COMPLETE_ABORT)),
    (ONGOING, PREPARE_COMMIT),
    (ONGOING, PREPARE_ABORT),
    (FENCE, PREPARE_ABORT),
    (PREPARE_COMMIT, COMPLETE_COMMIT),
    (PREPARE_ABORT, COMPLETE_ABORT),
    *((idle, DEAD) for idle in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)),
    (ONGOING, FENCE),
}
LEGAL_IN_VERSION_2 = LEGAL | {(idle, PREPARE_ABORT) for idle in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)}


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("target", TransactionState)
@pytest.mark.parametrize("previous", TransactionState)
def test_only_the_state_transitions_of_kafka_are_legal(
    previous: TransactionState, target: TransactionState, version: int
) -> None:
    is_legal = (previous, target) in (LEGAL_IN_VERSION_2 if version == 2 else LEGAL)

    assert may_move(previous, target, version) == is_legal
    if is_legal:
        assert moved(previous, target, version) is target
    else:
        with pytest.raises(InvariantError, match=f"cannot move from {previous.title} to {target.title}"):
            moved(previous, target, version)


def test_states_have_the_numbers_and_names_of_kafka() -> None:
    assert {state.title: state.value for state in TransactionState} == {
        "Empty": 0,
        "Ongoing": 1,
        "PrepareCommit": 2,
        "PrepareAbort": 3,
        "CompleteCommit": 4,
        "CompleteAbort": 5,
        "Dead": 6,
        "PrepareEpochFence": 7,
    }
    assert all(STATES_BY_TITLE[state.title] is state for state in TransactionState)
