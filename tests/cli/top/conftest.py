"""A broker in this process for each module."""

from support.clients.group_broker import addresses, http, servers

__all__ = ["addresses", "http", "servers"]
