"""A broker that all tests of a worker share; each test uses its own topics and groups."""

from support.clients.shared_broker import broker, servers, topic

__all__ = ["broker", "servers", "topic"]
