"""``pybroker top``: the busiest brokers and topics, and the groups that are furthest behind, on one screen."""
