"""Names of transaction states, by their number in ``__transaction_state`` (Kafka's TransactionState)."""

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
