"""A Kafka client that returns record batches as the bytes they are stored in.

**Why.** Other clients decode each record into an object. **Limits.** `Connection`, `Cluster` and `TargetCluster` block:
one thread, one connection to each broker.
"""
