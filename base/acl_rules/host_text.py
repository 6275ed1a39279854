"""The address of a client as ACLs contain it: the text of Java's `InetAddress.getHostAddress`."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address

__all__ = ["host_text"]


@lru_cache(1024)
def host_text(host: str) -> str:
    """IPv6 addresses have all eight groups (``0:0:0:0:0:0:0:1``); IPv4 addresses in IPv6 form become IPv4 addresses.

    A text that is no address stays as it is.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    packed = address.packed
    groups = ":".join(f"{packed[place] << 8 | packed[place + 1]:x}" for place in range(0, len(packed), 2))
    return f"{groups}%{address.scope_id}" if address.scope_id else groups
