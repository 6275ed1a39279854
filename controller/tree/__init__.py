"""The metadata tree: Kafka's znodes, and the stores that hold them (ZooKeeper or one SQLite file)."""
