"""Releases of Apache Kafka, for a broker that answers as one of them (``pybroker.as.version``)."""
