"""Reads record batches from the leaders of partitions."""
