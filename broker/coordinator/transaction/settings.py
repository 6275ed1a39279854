"""The settings of the transaction coordinator, read once from the broker's configuration."""

from ....base.frozen import frozen
from ....config.config import Config

__all__ = ["TransactionSettings"]


@frozen
class TransactionSettings:
    """Limits and delays, named after Kafka's settings (``transaction.max.timeout.ms`` …), with Kafka's defaults.

    Attributes:
        request_timeout_ms: request.timeout.ms: how long a client waits for a record to be committed.
        max_bytes: pybroker.transactions.max.bytes.
    """

    max_timeout_ms: int = 900_000
    expiration_ms: int = 7 * 24 * 3_600_000
    abort_interval_ms: int = 10_000
    expiry_interval_ms: int = 3_600_000
    request_timeout_ms: int = 30_000
    max_bytes: int = 256 * 1024 * 1024

    @classmethod
    def from_config(cls, config: Config) -> "TransactionSettings":
        """From a broker's configuration."""
        return cls(
            max_timeout_ms=config.int("transaction.max.timeout.ms"),
            expiration_ms=config.int("transactional.id.expiration.ms"),
            abort_interval_ms=config.int("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            expiry_interval_ms=config.int("transaction.remove.expired.transaction.cleanup.interval.ms"),
            request_timeout_ms=config.int("request.timeout.ms"),
            max_bytes=config.int("pybroker.transactions.max.bytes"),
        )
