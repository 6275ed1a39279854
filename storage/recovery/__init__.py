"""Loading logs, and repairing them after a crash."""
