"""Names that Kafka fixes: its internal topics, the security protocols of listeners, and the form of other names."""

import re

__all__ = [
    "CONSUMER_OFFSETS_TOPIC",
    "INTERNAL_TOPICS",
    "SECURITY_PROTOCOLS",
    "SHARE_GROUP_STATE_TOPIC",
    "SOFTWARE_NAME",
    "TRANSACTION_STATE_TOPIC",
]

CONSUMER_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_GROUP_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_GROUP_STATE_TOPIC})
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""The form of the software name and of its version in ApiVersions (KIP-511)."""
