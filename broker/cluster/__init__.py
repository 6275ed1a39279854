"""Clusters on this machine, for trying out and for tests: ZooKeeper, brokers, and the wires between them."""
