"""Failures of a cluster of three under load, played on pybroker and on Apache Kafka: `scripts/trouble`."""
