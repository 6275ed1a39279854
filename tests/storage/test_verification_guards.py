"""Tests of the guards of transactions whose verification by the coordinator is pending."""

from pybroker.storage.producers.verification_guards import OPEN_TRANSACTION, VerificationGuards

NOW_MS = 1_700_000_000_000
MOST = 20


def test_producer_has_one_guard_until_its_transaction_is_in_the_log() -> None:
    guards = VerificationGuards()
    assert not guards
    guard = guards.begin(7, 0, 5, NOW_MS, MOST)
    assert guards.begin(7, 0, 6, NOW_MS, MOST) is guard
    assert guards.get(7) is guard
    guards.end(7)
    assert guards.get(7) is None
    assert guards.begin(7, 0, 7, NOW_MS, MOST) is not guard


def test_lowest_sequence_of_a_guard_belongs_to_the_newest_epoch() -> None:
    guards = VerificationGuards()
    for epoch, sequence, lowest in (1, 5, 5), (1, 3, 3), (1, 4, 3), (2, 9, 9), (1, 0, 9), (2, 8, 8):
        assert guards.begin(7, epoch, sequence, NOW_MS, MOST).lowest_sequence == lowest


def test_no_log_has_the_guard_for_an_open_transaction() -> None:
    guards = VerificationGuards()
    guards.begin(7, 0, 0, NOW_MS, MOST)
    assert guards.get(7) is not OPEN_TRANSACTION
    assert guards.get(8) is not OPEN_TRANSACTION


def test_number_of_guards_in_a_log_is_limited() -> None:
    guards = VerificationGuards()
    for producer_id in range(MOST + 1):
        guards.begin(producer_id, 0, 0, NOW_MS, MOST)
    assert len(guards) <= MOST
    assert guards.get(0) is None
    assert guards.get(MOST) is not None
