"""APIs about the cluster: its brokers, elections, reassignments and log directories."""
