"""A Kafka client for an event loop: many requests under way, one connection to each broker.

`connection.py` is one connection, `cluster.py` finds the broker that a request must go to.
"""
