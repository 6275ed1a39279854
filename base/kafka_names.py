"""Names that Kafka fixes: its internal topics, and the security protocols of listeners."""

__all__ = ["CONSUMER_OFFSETS_TOPIC", "INTERNAL_TOPICS", "SECURITY_PROTOCOLS", "TRANSACTION_STATE_TOPIC"]

CONSUMER_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC})
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
