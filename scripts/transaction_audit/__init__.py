"""Transactions on real processes under faults, audited at the end: `scripts/audit-transactions`."""
