"""Rows about groups of the protocols that came after Kafka 3.9."""
