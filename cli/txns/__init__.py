"""``pybroker txns``: transactions of a cluster (Kafka 3.0 or newer)."""
