"""A broker in this process for each module."""

from support.clients.group_broker import addresses, filled, group, http, servers

__all__ = ["addresses", "filled", "group", "http", "servers"]
