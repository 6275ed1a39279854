"""Clusters of broker processes on one machine, for tests and experiments."""
