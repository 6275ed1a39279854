"""Changes of the cluster, which need --allow-writes: records, topics, offsets of groups."""
