"""Clusters of broker processes on this machine, for trials and tests."""
