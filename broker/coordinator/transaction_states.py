"""The states of transactions by the numbers that stand for them in __transaction_state (Kafka: TransactionState)."""

__all__ = ["TRANSACTION_STATES"]

TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
