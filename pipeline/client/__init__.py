"""A blocking Kafka client that returns record batches as the bytes they are stored in.

**Why.** Other clients decode each record into an object. **Limits.** One thread, one connection to each broker.
"""
