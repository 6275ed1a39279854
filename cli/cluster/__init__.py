"""``pybroker cluster``: brokers, health, leaders, reassignments and log directories of a cluster."""
