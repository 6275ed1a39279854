"""Writes record batches to the leaders of partitions."""
