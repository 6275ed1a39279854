"""Tests transactions of stock clients on three brokers under random faults, as `scripts/audit-transactions` does.

scripts/test tests/cluster/test_audited_transactions.py --long
"""

from pathlib import Path

import pytest
from transaction_audit.audit import Plan, audit

pytestmark = pytest.mark.long


def test_transactions_are_atomic_and_isolated_under_random_faults(tmp_path: Path) -> None:
    verdict = audit(Plan(seed=3, minutes=0.5, lives_s=(5.0, 15.0)), tmp_path)
    assert verdict.violations == [], verdict
