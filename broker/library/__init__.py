"""Brokers inside other programs: `Broker` and `Cluster`."""
